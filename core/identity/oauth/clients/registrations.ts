import type { Platform } from '#core/platform/platform.ts';
import { and, eq, isNull, lt, or } from 'drizzle-orm';
import * as v from 'valibot';
import { countIn } from '#core/cluster/kv.ts';
import { readSettings } from '#core/settings/settings.ts';
import { networkOf, siteOf } from '#core/edge/client-address.ts';
import { lockRowCount } from '#core/store/journal.ts';
import { randomToken } from '#core/lib/random-token.ts';
import { noteAttempt } from '../attempts.ts';
import { makeRoom } from '../fair-share.ts';
import { clientName } from './client-name.ts';
import { REGISTRATION_PREFIX } from './clients.ts';
import { isOpenTarget, redirectKindOf } from './redirects.ts';

const MOST = 1_000;
const MAX_PER_NETWORK = 30;
const WINDOW_MS = 10 * 60_000;
/** The time to wait when all registrations are in use. */
const FULL_SECONDS = 15 * 60;
const UNUSED_MS = 24 * 3_600_000;
const IDLE_MS = 90 * UNUSED_MS;

const Metadata = v.object({
  client_name: v.optional(v.unknown()),
  redirect_uris: v.pipe(v.array(v.pipe(v.string(), v.maxLength(2_048))), v.minLength(1), v.maxLength(10)),
  grant_types: v.optional(v.unknown()),
});

/** A response of RFC 7591 section 3.2. */
export interface RegistrationAnswer {
  readonly status: 201 | 400 | 403 | 429;
  readonly body: Readonly<Record<string, unknown>>;
  readonly retry_after?: number;
}

const refuse = (error: string, error_description: string, status: 400 | 403 | 429 = 400): RegistrationAnswer => ({
  status,
  body: { error, error_description },
});

/** Registers a public client. Unknown metadata is ignored (RFC 7591 section 2). */
export async function register(app: Platform, metadata: unknown, ip: string | null): Promise<RegistrationAnswer> {
  const answer = await registered(app, metadata, ip);
  const { error_description: reason = null, client_id = '' } = answer.body as { error_description?: string; client_id?: string };
  const client = clientName((metadata as { client_name?: unknown } | null)?.client_name);
  await noteAttempt(app, { client, client_id, step: 'register', reason, ip });
  return answer;
}

async function registered(app: Platform, metadata: unknown, ip: string | null): Promise<RegistrationAnswer> {
  if (!(await readSettings(app)).settings.dynamic_registration) {
    return refuse('access_denied', 'Clients cannot register themselves here. Ask an administrator for a client ID.', 403);
  }
  const { count, retry_after } = await countIn(app, `oauth:register:${networkOf(ip ?? '')}`, WINDOW_MS);
  if (count > MAX_PER_NETWORK) {
    return { ...refuse('temporarily_unavailable', `Too many registrations. Wait ${retry_after} seconds.`, 429), retry_after };
  }
  const parsed = v.safeParse(Metadata, metadata);
  if (!parsed.success) return refuse('invalid_redirect_uri', 'redirect_uris must be a list of 1 to 10 addresses.');
  const given = parsed.output.redirect_uris;
  if (given.some((uri) => redirectKindOf(uri) === 'dangerous')) {
    return refuse(
      'invalid_redirect_uri',
      'One of redirect_uris has a scheme that runs code or reads files, so all of them are refused.',
    );
  }
  const redirect_uris = [...new Set(given.filter(isOpenTarget))];
  if (redirect_uris.length === 0) {
    return refuse(
      'invalid_redirect_uri',
      'redirect_uris must be https addresses, http addresses of this computer (localhost, 127.0.0.1, [::1]), or those of a known editor.',
    );
  }
  const client_id = randomToken(REGISTRATION_PREFIX);
  const name = clientName(parsed.output.client_name) ?? 'Unnamed client';
  const now = app.clock();
  const row = { client_id, name, redirect_uris, network: siteOf(ip ?? ''), created_at: now.toISOString(), last_used_at: null };
  if (!(await store(app, row))) {
    const reason = 'Too many registered clients are in use. Ask an administrator for a client ID.';
    return { ...refuse('temporarily_unavailable', reason, 429), retry_after: FULL_SECONDS };
  }
  return {
    status: 201,
    body: {
      client_id,
      client_id_issued_at: Math.floor(now.getTime() / 1_000),
      client_name: name,
      redirect_uris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
  };
}

type Row = Platform['store']['tables']['oauth_registrations']['$inferInsert'];

/** @returns false when the limit is reached and every registration is in use. */
async function store(app: Platform, row: Row): Promise<boolean> {
  const { oauth_registrations: table } = app.store.tables;
  const { client_id: key, network, created_at: age } = table;
  return app.store.write(async (tx) => {
    await lockRowCount(app.store, tx);
    const unused = { table, key, network, age, may_go: isNull(table.last_used_at) };
    if ((await tx.$count(table)) >= MOST && !(await makeRoom(tx, unused))) return false;
    await tx.insert(table).values(row);
    return true;
  });
}

/** Marks a registration as used, so that it is not deleted. */
export async function noteRegistrationUse(app: Platform, client_id: string): Promise<void> {
  if (!client_id.startsWith(REGISTRATION_PREFIX)) return;
  const { oauth_registrations: table } = app.store.tables;
  const last_used_at = app.clock().toISOString();
  await app.store.write(async (tx) => {
    await tx.update(table).set({ last_used_at }).where(eq(table.client_id, client_id));
  });
}

/** Deletes registrations without a sign-in after a day, and those not used for 90 days. */
export async function forgetRegistrations(app: Platform): Promise<void> {
  const { oauth_registrations: table } = app.store.tables;
  const ago = (ms: number) => new Date(app.clock().getTime() - ms).toISOString();
  await app.store.write(async (tx) => {
    await tx
      .delete(table)
      .where(or(and(isNull(table.last_used_at), lt(table.created_at, ago(UNUSED_MS))), lt(table.last_used_at, ago(IDLE_MS))));
  });
}
