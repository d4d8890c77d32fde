import type { Platform } from '#core/platform/platform.ts';
import type { WithDocuments } from '#core/identity/oauth/clients/documents.ts';
import { eq } from 'drizzle-orm';
import type { ClientFacts } from '#core/contract/identity/oauth.ts';
import { cachedDocument, type ClientDocument, clientDocument, isDocumentUrl } from './documents.ts';
import { knownClient } from './known-clients.ts';
import { redirectMatches } from './redirects.ts';
import { NOT_ROTATED, type TokenEnds } from '#core/identity/ends/token-ends.ts';

/** The prefixes of client IDs that Sluice issues. They cannot be confused with an address. */
export const APP_PREFIX = 'svc_app_';
export const REGISTRATION_PREFIX = 'svc_dcr_';

/** Matches no secret. An imported app has no secret until a new one is created. */
const NO_SECRET = '-'.repeat(64);

export interface Client {
  readonly facts: ClientFacts;
  readonly redirect_uris: readonly string[];
  /** Digest of the secret that the client must send. Null: the client has no secret. */
  readonly secret_digest: string | null;
  /** When the secret ends, and the one before a rotation. */
  readonly ends: SecretEnds;
}

type SecretEnds = TokenEnds & { readonly previous_digest: string | null };
/** A client whose secret has no end, or that has none. */
const ENDLESS: SecretEnds = { expires_at: null, ...NOT_ROTATED };

/**
 * Finds a client by its ID among apps, known clients, documents and registrations, in this order. Null when there is none.
 * @param redirect_uri the requested address. If the built-in copy of a known client lacks it, the client's document is read.
 * @param ip the address of the caller.
 */
export async function findClient(
  app: Platform & WithDocuments,
  client_id: string,
  redirect_uri: string | null,
  ip: string | null,
): Promise<Client | null> {
  return client_id.startsWith(ADDRESS) ? byAddress(app, client_id, redirect_uri, ip) : storedClient(app, client_id);
}

/**
 * The client of a code or a token, which are bound to its ID. Its document was read when the person consented, so the sign-in
 * continues even if the document cannot be read now.
 */
export async function boundClient(app: Platform, client_id: string): Promise<Client | null> {
  if (!client_id.startsWith(ADDRESS)) return storedClient(app, client_id);
  if (!isDocumentUrl(client_id)) return null;
  const document = knownClient(client_id) ?? (await cachedDocument(app, client_id));
  return ofAddress(client_id, document ?? { name: new URL(client_id).hostname, redirect_uris: [] });
}

const ADDRESS = 'https://';

async function storedClient(app: Platform, client_id: string): Promise<Client | null> {
  if (client_id.startsWith(APP_PREFIX)) return appClient(app, client_id);
  return client_id.startsWith(REGISTRATION_PREFIX) ? registeredClient(app, client_id) : null;
}

async function byAddress(
  app: Platform & WithDocuments,
  client_id: string,
  redirect_uri: string | null,
  ip: string | null,
): Promise<Client | null> {
  if (!isDocumentUrl(client_id)) return null;
  const known = knownClient(client_id);
  const fits = known !== null && (redirect_uri === null || redirectMatches(known.redirect_uris, redirect_uri));
  const document = fits ? known : ((await clientDocument(app, client_id, ip)) ?? known);
  return document && ofAddress(client_id, document);
}

function ofAddress(client_id: string, document: ClientDocument): Client {
  const known = knownClient(client_id);
  const { host } = new URL(client_id);
  const name = known?.name ?? document.name;
  return {
    facts: { client_id, name, kind: known === null ? 'document' : 'known', host, trusted: false },
    redirect_uris: document.redirect_uris,
    secret_digest: null,
    ends: ENDLESS,
  };
}

async function appClient({ store }: Platform, client_id: string): Promise<Client | null> {
  const { oauth_apps } = store.tables;
  const [row] = await store.db.select().from(oauth_apps).where(eq(oauth_apps.client_id, client_id));
  if (row === undefined) return null;
  const { name, trusted, redirect_uris } = row;
  const secret_digest = row.confidential ? (row.secret_digest ?? NO_SECRET) : null;
  return { facts: { client_id, name, kind: 'app', host: null, trusted }, redirect_uris, secret_digest, ends: row };
}

async function registeredClient({ store }: Platform, client_id: string): Promise<Client | null> {
  const { oauth_registrations } = store.tables;
  const [row] = await store.db.select().from(oauth_registrations).where(eq(oauth_registrations.client_id, client_id));
  if (row === undefined) return null;
  const { name, redirect_uris } = row;
  const facts: ClientFacts = { client_id, name, kind: 'registration', host: null, trusted: false };
  return { facts, redirect_uris, secret_digest: null, ends: ENDLESS };
}
