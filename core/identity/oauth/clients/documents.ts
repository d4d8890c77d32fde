import type { Platform } from '#core/platform/platform.ts';
import * as v from 'valibot';
import { type Counted, countMinute } from '#core/cluster/kv.ts';
import { getSealed, setSealed } from '#core/platform/sealed-kv.ts';
import { siteOf } from '#core/edge/client-address.ts';
import { boundedText } from '#core/engines/shared/bounded-text.ts';
import { guardedFetch } from '#core/engines/shared/dial.ts';
import { AppError } from '#core/errors.ts';
import { digestOf } from '#core/lib/random-token.ts';
import { reasonOf } from '#core/process/log.ts';
import { clientName } from './client-name.ts';
import { isOpenTarget, redirectKindOf } from './redirects.ts';

/** The metadata document of a client (draft-ietf-oauth-client-id-metadata-document). */
export interface ClientDocument {
  readonly name: string;
  readonly redirect_uris: readonly string[];
}

/** Fetches without following a redirect. */
export type FetchDocument = (url: string, init: { headers: Record<string, string>; signal: AbortSignal }) => Promise<Response>;

const MOST_CHARACTERS = 10 * 1_024;
const SHORTEST_MS = 30_000;
const LONGEST_MS = 24 * 3_600_000;
/**
 * Fetches per minute: of all sites, and of one site. The first fetches of a site may exceed the common limit, so that others
 * cannot block it.
 */
const FETCHES_A_MINUTE = 60;
const FETCHES_OF_A_SITE = 20;
const FIRST_A_MINUTE = 300;
const FIRST_OF_A_SITE = 3;

const Document = v.object({
  client_id: v.string(),
  client_name: v.optional(v.unknown()),
  redirect_uris: v.pipe(v.array(v.pipe(v.string(), v.maxLength(2_048))), v.minLength(1), v.maxLength(50)),
  client_secret: v.optional(v.undefined()),
  client_secret_expires_at: v.optional(v.undefined()),
});

/** Whether a client ID can be the address of a document: https, with a path, and unambiguous. */
export function isDocumentUrl(client_id: string): boolean {
  if (client_id.length > 512 || !/^https:\/\/[a-z0-9.-]+\/[\x21-\x7e]+$/.test(client_id) || /[\\#"<>^`{|}]/.test(client_id)) {
    return false;
  }
  if (!URL.canParse(client_id)) return false;
  const url = new URL(client_id);
  // A text that a parser would change (dot segments, a default port, letter case) would be a different client ID.
  return url.href === client_id && url.port === '' && url.username === '' && url.pathname !== '/' && url.hostname.includes('.');
}

/** Public addresses only, even when databases may be in private networks, because anyone can choose the address. */
const fetchPublic =
  ({ policy }: Platform): FetchDocument =>
  (url, init) =>
    guardedFetch(url, init, { ...policy, allow_private_networks: false });

const keyOf = (client_id: string): string => `oauth:document:${digestOf(client_id)}`;

/** The cached document of a client. Null when it has to be fetched. */
export async function cachedDocument(app: Platform, client_id: string): Promise<ClientDocument | null> {
  const cached = await getSealed(app, keyOf(client_id));
  return cached === null ? null : (JSON.parse(cached) as ClientDocument);
}

/**
 * The document of a client. Null when it cannot be read; the reason is in the log. Rejects when the limit of fetches is exceeded.
 * @param ip the address of the caller.
 */
export async function clientDocument(
  app: Platform & WithDocuments,
  client_id: string,
  ip: string | null,
): Promise<ClientDocument | null> {
  const cached = await cachedDocument(app, client_id);
  if (cached !== null) return cached;
  const { document_flights } = app;
  const flying = document_flights.get(client_id);
  if (flying !== undefined) return flying;
  const flight = (async () => {
    await countFetch(app, siteOf(ip ?? ''));
    const found = await fetchOnce(client_id, app.fetch_document ?? fetchPublic(app), app.waits.client_document_ms);
    if (found.keep_ms > 0) await setSealed(app, keyOf(client_id), JSON.stringify(found.document), found.keep_ms);
    return found.document;
  })()
    .catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'rate_limited') throw error;
      app.log.warning('the metadata document of an OAuth client was not accepted', { client_id, reason: reasonOf(error) });
      return null;
    })
    .finally(() => document_flights.delete(client_id));
  document_flights.set(client_id, flight);
  return flight;
}

/** Counts the site first, so that a site beyond its limit does not use up the common limit. Refused fetches are not counted. */
async function countFetch(app: Platform, site: string): Promise<void> {
  const key = 'oauth:documents';
  const of_site = await countMinute(app, `${key}:${site}`);
  if (of_site.count > FETCHES_OF_A_SITE) throw tooMany(of_site);
  const all = await countMinute(app, key);
  if (all.count <= (of_site.count <= FIRST_OF_A_SITE ? FIRST_A_MINUTE : FETCHES_A_MINUTE)) return;
  await countMinute(app, key, -1);
  throw tooMany(all);
}

function tooMany({ retry_after }: Counted): AppError {
  const detail = `Too many new clients are signing in, so this one was not looked up. Try again in ${retry_after} seconds.`;
  return new AppError('rate_limited', detail, { retry_after });
}

async function fetchOnce(
  client_id: string,
  fetchDocument: FetchDocument,
  within_ms: number,
): Promise<{ document: ClientDocument; keep_ms: number }> {
  const signal = AbortSignal.timeout(within_ms);
  const response = await fetchDocument(client_id, { headers: { accept: 'application/json' }, signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`its address answered with status ${response.status}`);
  }
  const parsed = v.parse(Document, JSON.parse(await boundedText(response, MOST_CHARACTERS)));
  if (parsed.client_id !== client_id) throw new Error('its client_id is not its address');
  const { hostname } = new URL(client_id);
  const redirect_uris = parsed.redirect_uris.filter((uri) => isOwnTarget(uri, hostname));
  if (redirect_uris.length === 0) throw new Error('none of its redirect addresses is its own host or this computer');
  return {
    document: { name: clientName(parsed.client_name) ?? hostname, redirect_uris },
    keep_ms: lifetimeOf(response.headers.get('cache-control')),
  };
}

/** A client may use addresses on the host of its document and its subdomains, on the person's computer, and of known editors. */
function isOwnTarget(uri: string, hostname: string): boolean {
  if (!isOpenTarget(uri)) return false;
  if (redirectKindOf(uri) !== 'https') return true;
  const target = new URL(uri).hostname;
  return target === hostname || target.endsWith(`.${hostname}`);
}

/** The cache lifetime (RFC 9111 section 5.2.2), within our limits. */
function lifetimeOf(cache_control: string | null): number {
  const text = cache_control?.toLowerCase() ?? '';
  if (/\bno-store\b/.test(text)) return 0;
  const seconds = Number(/\bmax-age=(\d{1,9})\b/.exec(text)?.[1] ?? 0);
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, seconds * 1_000));
}

export interface WithDocuments {
  readonly document_flights: Map<string, Promise<ClientDocument | null>>;
  readonly fetch_document?: FetchDocument;
}
