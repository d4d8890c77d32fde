import type { JWK } from 'jose';
import type { Sealed } from '#core/contract/fields.ts';
import { endColumns, type Kit, recordColumns } from '#core/store/kit.ts';
import type { ClientFacts, Grant, OauthAttempt } from '#core/contract/identity/oauth.ts';

/** Sign-in of MCP clients: clients, requests and grants. Secrets are stored as SHA-256. */
export function oauthTables(k: Kit) {
  /** Clients that an administrator created. */
  const oauth_apps = k.table(
    'oauth_apps',
    {
      ...recordColumns(k),
      client_id: k.text().notNull(),
      redirect_uris: k.json<string[]>().notNull(),
      confidential: k.bool().notNull(),
      trusted: k.bool().notNull(),
      secret_digest: k.text(),
      ...endColumns(k),
    },
    (t) => [k.unique('oauth_apps_client_id').on(t.client_id), k.unique('oauth_apps_name').on(t.name)],
  );
  /** Clients that registered themselves (RFC 7591). */
  const oauth_registrations = k.table(
    'oauth_registrations',
    {
      client_id: k.text().primaryKey(),
      name: k.text().notNull(),
      redirect_uris: k.json<string[]>().notNull(),
      /** The network of the registering client, for fair shares. */
      network: k.text().notNull().default(''),
      created_at: k.text().notNull(),
      /** Null until a person signed in with it. */
      last_used_at: k.text(),
    },
    (t) => [k.index('oauth_registrations_made').on(t.created_at)],
  );
  /** Requests that wait for a decision. `id` and `browser` are digests of values that only the browser has. */
  const oauth_requests = k.table(
    'oauth_requests',
    {
      id: k.text().primaryKey(),
      browser: k.text().notNull(),
      client: k.json<ClientFacts>().notNull(),
      redirect_uri: k.text().notNull(),
      state: k.text(),
      scopes: k.json<string[]>().notNull(),
      resource: k.text().notNull(),
      code_challenge: k.text().notNull(),
      network: k.text().notNull().default(''),
      expires_at: k.text().notNull(),
    },
    (t) => [k.index('oauth_requests_expiry').on(t.expires_at)],
  );
  const oauth_codes = k.table(
    'oauth_codes',
    {
      digest: k.text().primaryKey(),
      client: k.json<ClientFacts>().notNull(),
      redirect_uri: k.text().notNull(),
      code_challenge: k.text().notNull(),
      resource: k.text().notNull(),
      scopes: k.json<string[]>().notNull(),
      person_id: k.text().notNull(),
      /** The grant that the code creates when it is used. */
      grant_id: k.text().notNull(),
      spent: k.bool().notNull(),
      expires_at: k.text().notNull(),
    },
    (t) => [k.index('oauth_codes_expiry').on(t.expires_at)],
  );
  const oauth_grants = k.table(
    'oauth_grants',
    {
      id: k.text().primaryKey(),
      person_id: k.text().notNull(),
      client_id: k.text().notNull(),
      client: k.json<ClientFacts>().notNull(),
      resource: k.text().notNull(),
      scopes: k.json<string[]>().notNull(),
      /** Null: the person approved it on the consent page. */
      kind: k.text().$type<Exclude<Grant['kind'], 'consent'>>(),
      created_at: k.text().notNull(),
      last_used_at: k.text().notNull(),
    },
    (t) => [k.index('oauth_grants_person').on(t.person_id), k.index('oauth_grants_client').on(t.client_id)],
  );
  /**
   * Refresh tokens of live grants. A used one contains its encrypted successor, for a client that did not receive the response.
   */
  const oauth_refresh = k.table(
    'oauth_refresh',
    {
      digest: k.text().primaryKey(),
      grant_id: k.text().notNull(),
      rotated_at: k.text(),
      successor: k.text(),
      successor_digest: k.text(),
      expires_at: k.text().notNull(),
    },
    (t) => [k.index('oauth_refresh_grant').on(t.grant_id), k.index('oauth_refresh_expiry').on(t.expires_at)],
  );
  /** The last steps of sign-ins from clients. */
  const oauth_attempts = k.table('oauth_attempts', {
    id: k.text().primaryKey(),
    client: k.text().notNull(),
    client_id: k.text().notNull(),
    step: k.text().$type<OauthAttempt['step']>().notNull(),
    /** Null: the step succeeded. */
    reason: k.text(),
    person: k.text(),
    ip: k.text(),
    created_at: k.text().notNull(),
  });
  return { oauth_apps, oauth_registrations, oauth_requests, oauth_codes, oauth_grants, oauth_refresh, oauth_attempts };
}

/** Keys that sign access tokens of people, and tokens that have been invalidated. */
export function oauthKeyTables(k: Kit) {
  const signing_keys = k.table('signing_keys', {
    /** Thumbprint of the public key (RFC 7638). */
    kid: k.text().primaryKey(),
    /** `next`: published, but not signing yet. `retired`: only verifies. */
    state: k.text().$type<'next' | 'current' | 'retired'>().notNull(),
    public_key: k.json<JWK>().notNull(),
    /** A JWK sealed as `signing_key/<kid>/private_key`; null once the key is retired. */
    private_key: k.json<Sealed | null>(),
    created_at: k.text().notNull(),
    /** When it reached its state. */
    since: k.text().notNull(),
  });
  /** Rows are stored for the longest lifetime of an access token. */
  const ended_grants = k.table('ended_grants', {
    /** Number of the list change that ended it. Null until it is assigned in the same transaction. */
    seq: k.real(),
    /** `<kind>:<value>`. The tokens of a person can be ended repeatedly. */
    id: k.text().primaryKey(),
    kind: k.text().$type<'grant' | 'sub' | 'client_id'>().notNull(),
    value: k.text().notNull(),
    /** Tokens issued up to this time are refused. */
    ended_at: k.text().notNull(),
  });
  return { signing_keys, ended_grants };
}
