import { afterAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { Secret, TOTP } from 'otpauth';
import postgres from 'postgres';
import { signSession } from '#core/edge/session-token.ts';
import { hashPassword } from '#core/identity/passwords.ts';
import { createKeyring } from '#core/lib/secrets.ts';
import { newTotpSecret, recoveryHash } from '#core/lib/totp.ts';
import { testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { olderMetadata } from '#test/support/older-metadata.ts';

const KEY = 'a-key-of-the-first-edition-32-characters-long';
const VARIABLES = { SVC_ENCRYPTION_KEY: KEY, SVC_JWT_SECRET: KEY };
const NOW = new Date('2026-03-01T12:00:00.000Z');
const LATER = new Date(NOW.getTime() + 3_600_000);
const [ID, SESSION] = ['0190b0c0-0000-7000-8000-000000000001', '0190b0c0-0000-7000-8000-000000000002'];
const SECRET = newTotpSecret();
const PENDING = 'a token of a sign-in that is half done';

/** What the first edition wrote: its tables, one administrator with a second factor, a session and a sign-in that is half done. */
async function firstEdition(dialect: 'sqlite' | 'postgresql'): Promise<string[]> {
  const place = `admin/${ID}/totp_secret`;
  const $sealed = createKeyring([KEY], new Uint8Array(32)).seal(SECRET, place);
  const [now, later, on] = [NOW.toISOString(), LATER.toISOString(), dialect === 'postgresql' ? 'true' : '1'];
  return [
    ...olderMetadata(dialect, 'oauth_keys'),
    `insert into admins values ('${ID}', 1, 'ada', '${await hashPassword('correct horse')}', '${JSON.stringify({ $sealed })}', ${on}, null, '${now}', '${now}')`,
    `insert into sessions values ('${SESSION}', '${ID}', '192.0.2.1', 'a browser', '${now}', '${now}', '${later}', null)`,
    `insert into recovery_codes values ('${recoveryHash(ID, 'AAAA-BBBB-CCCC-DDDD')}', '${ID}', '${now}')`,
    `insert into pending_logins values ('${createHash('sha256').update(PENDING).digest('hex')}', '${ID}', 0, '${later}')`,
  ];
}

const ends: (() => Promise<void> | void)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
});

async function sqliteUrl(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-first-'));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  const url = `file:${join(folder, 'first.sqlite')}`;
  const client = createClient({ url });
  for (const statement of await firstEdition('sqlite')) await client.execute(statement);
  client.close();
  return url;
}

async function postgresUrl(): Promise<string> {
  const database = await testDatabase('postgresql');
  ends.push(() => database.drop());
  const sql = postgres(database.url, { onnotice: () => undefined });
  for (const statement of await firstEdition('postgresql')) await sql.unsafe(statement);
  await sql.end();
  return database.url;
}

describe.each([
  ['sqlite', sqliteUrl, true],
  ['postgresql', postgresUrl, reachable.postgres],
] as const)('a database of the first edition (%s)', (_, make, can) => {
  test.skipIf(!can)('keeps its administrator as owner, with session, second factor and what was begun', async () => {
    const t = await testApp(VARIABLES, await make());
    ends.push(() => t.close());
    const cookie = `svc_session=${await signSession(KEY, { sub: ID, sid: SESSION }, NOW, LATER)}`;
    const me = await t.call('auth.me', {}, { anonymous: true, headers: { cookie } });
    expect(me).toMatchObject({ id: ID, username: 'ada', role: 'owner', groups: [], totp_enabled: true });
    expect((await t.call('auth.status', {}, { anonymous: true })).setup_required).toBe(false);
    expect((await t.send('mcp_tokens.list', {}, { anonymous: true, headers: { cookie } })).status).toBe(200);
    const { people } = t.app.store.tables;
    expect(await t.app.store.db.select().from(people)).toMatchObject([
      { id: ID, slot: 1, enabled: true, sign_in: 'password', version: 1, last_seen_at: NOW.toISOString() },
    ]);
    // The sign-in that was half done ends with the authenticator of before.
    const code = new TOTP({ secret: Secret.fromBase32(SECRET) }).generate({ timestamp: NOW.getTime() });
    const done = await t.send('two_factor.login', { pending_token: PENDING, code });
    expect([done.status, done.body]).toEqual([200, { totp_required: false, username: 'ada' }]);
    // And the next one with a recovery code of before.
    const login = { username: 'ada', password: 'correct horse' };
    const asked = await t.call('auth.login', login, { anonymous: true });
    const body = {
      pending_token: 'pending_token' in asked ? asked.pending_token : null,
      code: 'AAAA-BBBB-CCCC-DDDD',
      is_recovery: true,
    };
    expect((await t.send('two_factor.login', body)).status).toBe(200);
    const second = await t.send('auth.setup', { ...login, username: 'eve' }, { anonymous: true });
    expect(second.status).toBe(409);
  });
});
