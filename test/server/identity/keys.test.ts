import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { Secret, TOTP } from 'otpauth';
import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { RawInput } from '#core/contract/index.ts';
import { parseEnv } from '#core/process/env.ts';
import { AppError } from '#core/errors.ts';
import { createLog } from '#core/process/log.ts';
import { type Context, systemRequest } from '#core/context/context.ts';
import { run } from '#core/control-plane/run.ts';
import { keyOf } from '#core/lib/sealed-values.ts';
import { toSettings } from '#core/engines/shared/connection-settings.ts';
import { createKeyring, keyIdOf, openOrNull } from '#core/lib/secrets.ts';
import { createOwner } from '#core/identity/auth.ts';
import { activeSnapshot } from '#core/versions/deployment.ts';
import { keysReport, requireSecrets, secretFaults } from '#core/versions/keys.ts';
import { rotateKeys } from '#core/identity/oauth/keys.ts';
import { blobSecrets } from '#core/versions/sealed-records.ts';
import { rewrapSecrets } from '#core/versions/rewrap.ts';
import { startServer } from '#server/start.ts';
import { storeExtras } from '#test/support/extras.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { connectHost } from '#test/support/host.ts';

const OLD = 'old-key-old-key-old-key-old-key-old';
const NEW = 'new-key-new-key-new-key-new-key-new';
const OTHER = 'other-key-other-key-other-key-other';
const system = systemRequest('test');

/** What a secret-bearing installation holds; nothing of it is dialled. */
const draft: RawInput<'connections.create'> = {
  name: 'shop',
  db_type: 'postgresql',
  host: '127.0.0.1',
  port: 1,
  database: 'shop',
  username: 'reader',
  password: 'first secret',
};
const PLAIN = { password: 'first secret', extra_params: { application_name: 'sluice', api_token: 'second secret' } };

let directory: string;
let database_url: string | undefined;
let running: Awaited<ReturnType<typeof startServer>> | undefined;

/** Starts the server with a ring of keys; the one before ends. */
async function restart(...keys: string[]): Promise<ControlPlane> {
  await stop();
  const { env } = parseEnv('server', {
    SVC_ENV: 'dev',
    SVC_KV: 'memory',
    SVC_PORT: '0',
    SVC_ENCRYPTION_KEY: keys.join(','),
    SVC_JWT_SECRET: OTHER,
    SVC_AGENT_SERVICE_TOKEN: OTHER,
    SVC_DATA_DIR: directory,
    SVC_GENERATED_DIR: join(directory, 'generated'),
    SVC_ALLOW_PRIVATE_NETWORKS: 'true',
    ...(database_url === undefined ? {} : { SVC_DATABASE_URL: database_url }),
  });
  running = await startServer(
    env,
    createLog('ERROR', () => undefined),
  );
  connectHost(running.app);
  return running.app;
}

async function stop(): Promise<void> {
  await running?.stop();
  running = undefined;
}

async function refusal(...keys: string[]): Promise<string> {
  const error = await restart(...keys).then(
    () => null,
    (fault: unknown) => fault,
  );
  expect(error).toBeInstanceOf(AppError);
  expect((error as AppError).code).toBe('secrets_unavailable');
  return (error as AppError).detail;
}

const connectionRow = async (app: ControlPlane) => {
  const rows = await app.store.db.select().from(app.store.tables.connections);
  return rows[0] as (typeof rows)[number];
};
const keysOf = (value: unknown) => [
  ...new Set([...JSON.stringify(value).matchAll(/\$sealed\\?":\\?"(v1[^"\\]*)/g)].map(([, sealed]) => keyOf(sealed ?? ''))),
];
/** What of the stored snapshots holds secrets. */
const sealedBlobs = async (app: ControlPlane) =>
  (await app.store.db.select().from(app.store.tables.blobs)).filter(({ text }) => text.includes('$sealed'));
const use = async (app: ControlPlane, key: string) => (await keysReport(app)).find(({ key_id }) => key_id === keyIdOf(key));
const history = async (app: ControlPlane) => (await app.store.db.select().from(app.store.tables.history)).length;

/** An administrator with a second factor, a connection, a configuration and a token with secrets, and a snapshot of them. */
async function fill(app: ControlPlane): Promise<{ id: string; token_id: string }> {
  const context: Context = { ...system, app };
  await createOwner(context, 'ada', 'correct horse');
  const { id: person_id } = (await app.store.db.select().from(app.store.tables.people))[0] as { id: string };
  const mine = { ...system, actor: { type: 'admin', id: person_id, name: 'ada', scopes: [] } } as const;
  const { secret } = await run(app, 'two_factor.setup', { password: 'correct horse' }, mine);
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  await run(app, 'two_factor.verify_setup', { code }, mine);
  const { id } = await run(app, 'connections.create', draft, system);
  await storeExtras(app, id, PLAIN.extra_params);
  const tool = { connection_id: id, name: 'one', description: 'One', sql_query: 'select 1 as one' };
  await run(app, 'tools.create', tool, system);
  const oauth_clients = [{ client_id: 'client', client_secret: 'fourth secret' }];
  await run(app, 'config.update', { oauth_clients }, system);
  const { id: token_id } = await run(app, 'mcp_tokens.create', { name: 'token', all_toolsets: true }, system);
  await run(app, 'deploy.run', {}, system);
  return { id, token_id };
}

const kinds = [
  ['the embedded database', false],
  ['PostgreSQL', true],
] as const;

describe.each(kinds)('on %s', (name, on_postgres) => {
  const maybe = test.skipIf(on_postgres && !reachable.postgres);
  let database: Awaited<ReturnType<typeof testDatabase>> | undefined;
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'sluice-keys-'));
    if (on_postgres && reachable.postgres) {
      database = await testDatabase('postgresql');
      const { host, port, username, database: db } = database.settings;
      database_url = `postgres://${username}@${host}:${port}/${db}`;
    }
  });
  afterEach(async () => {
    await stop();
    await database?.drop();
    database = undefined;
    database_url = undefined;
    rmSync(directory, { recursive: true, force: true });
  });

  maybe(`a key is rotated: readable, rewritten by updates, removable (${name})`, async () => {
    const { id, token_id } = await fill(await restart(OLD));

    const app = await restart(NEW, OLD);
    const row = await connectionRow(app);
    expect(await toSettings(row, app.secrets)).toMatchObject(PLAIN);
    expect(keysOf(row)).toEqual([keyIdOf(OLD)]);
    expect(keysOf(await sealedBlobs(app))).toEqual([keyIdOf(NEW)]);
    expect(await use(app, OLD)).toMatchObject({ current: false, configured: true, entities: 4, removable: false });

    await run(app, 'connections.update', { id, pool_size: 3 }, system);
    expect(keysOf(await connectionRow(app))).toEqual([keyIdOf(NEW)]);
    expect(await toSettings(await connectionRow(app), app.secrets)).toMatchObject({ ...PLAIN, pool_size: 3 });
    expect(await use(app, OLD)).toMatchObject({ entities: 3, removable: false });
    await run(app, 'config.update', { server_name: 'Other' }, system);
    await run(app, 'mcp_tokens.delete', { id: token_id }, system);
    expect(await use(app, OLD)).toMatchObject({ entities: 1, removable: false });

    const [admin] = await app.store.db.select().from(app.store.tables.people);
    const mine = { ...system, actor: { type: 'admin', id: admin?.id ?? null, name: 'ada', scopes: [] } } as const;
    await run(app, 'auth.update_me', { current_password: 'correct horse', username: 'grace' }, mine);
    expect(await use(app, OLD)).toMatchObject({ entities: 0, active_snapshot: false, removable: true });
    expect((await use(app, OLD))?.history).toBeGreaterThan(0);

    const after = await restart(NEW);
    expect(await toSettings(await connectionRow(after), after.secrets)).toMatchObject(PLAIN);
    expect(await use(after, OLD)).toMatchObject({ configured: false, removable: true });
    await run(after, 'deploy.run', {}, system);
  });

  maybe(`an earlier version of which one secret is lost says so (${name})`, async () => {
    const before = await restart(OLD);
    const { id } = await fill(before);
    // Its other secrets are in the version after it, too, and get the new key with that.
    await run(before, 'connections.update', { id, password: 'second secret' }, system);
    await run(before, 'deploy.run', {}, system);
    const marksOf = async (app: ControlPlane) =>
      Promise.all([1, 2].map(async (version) => (await run(app, 'snapshots.get', { version }, system)).secrets_unavailable));
    const app = await restart(NEW, OLD);
    expect(await marksOf(app)).toEqual([undefined, undefined]);
    expect(await marksOf({ ...app, keyring: createKeyring([NEW], new Uint8Array(32)) })).toEqual([true, undefined]);
  });

  maybe(`a candidate keeps its secrets when a key goes (${name})`, async () => {
    const before = await restart(OLD);
    const { id } = await fill(before);
    // Only the candidate holds this one.
    await run(before, 'connections.update', { id, password: 'candidate secret' }, system);
    const { candidate } = await run(before, 'candidates.create', {}, system);
    await run(before, 'connections.update', { id, password: 'last secret' }, system);
    const sealed = (await sealedBlobs(before)).length;
    const app = await restart(NEW, OLD);
    expect(keysOf(await sealedBlobs(app))).toEqual([keyIdOf(NEW)]);
    expect(await rewrapSecrets(app)).toMatchObject({ active_snapshot: false });
    expect(await use(app, OLD)).toMatchObject({ entities: 0, removable: true });
    expect(await use(app, NEW)).toMatchObject({ entities: 9, active_snapshot: true });
    const after = await restart(NEW);
    expect(await secretFaults(after)).toEqual([]);
    const texts = (await sealedBlobs(after)).flatMap((blob) => blobSecrets(blob));
    expect((await sealedBlobs(after)).length).toBe(sealed);
    expect(texts.map((secret) => openOrNull(after.keyring, secret.sealed, secret.path))).toContain('candidate secret');
    await run(after, 'deploy.run', { candidate, canary: { percent: 10, minutes: 5 } }, system);
  });

  maybe(`a key that is removed too early refuses the start and is named (${name})`, async () => {
    await fill(await restart(OLD));
    const lost = await refusal(NEW);
    expect(lost).toContain(keyIdOf(OLD));
    await restart(NEW, OLD);
    const detail = await refusal(NEW);
    expect(detail).toContain(keyIdOf(OLD));
    expect(detail).toContain('connection shop, the account ada, the server configuration and access token token');
    for (const text of ['first secret', 'second secret', OLD, NEW]) expect(detail).not.toContain(text);
    const back = await restart(NEW, OLD);
    expect(await toSettings(await connectionRow(back), back.secrets)).toMatchObject(PLAIN);
  });

  maybe(`rewrapping seals everything with the first key and leaves no other trace (${name})`, async () => {
    await fill(await restart(OLD));
    const app = await restart(NEW, OLD);
    const [row, entries, active] = [await connectionRow(app), await history(app), await activeSnapshot(app)];
    expect(await rewrapSecrets(app)).toEqual({ entities: 4, active_snapshot: false });
    expect(await rewrapSecrets(app)).toEqual({ entities: 0, active_snapshot: false });
    const fresh = await connectionRow(app);
    expect(keysOf(fresh)).toEqual([keyIdOf(NEW)]);
    expect({ ...fresh, password: null, extra_params: null }).toEqual({ ...row, password: null, extra_params: null });
    expect(await history(app)).toBe(entries);
    expect(await activeSnapshot(app)).toEqual(active);
    expect((await run(app, 'deploy.diff', {}, system)).changes).toEqual([]);
    expect((await run(app, 'deploy.run', {}, system)).changed).toBe(false);
    await restart(NEW);
  });

  maybe(`older snapshots and history are counted, and keep nobody from starting (${name})`, async () => {
    const before = await restart(OLD);
    const { id } = await fill(before);
    await run(before, 'connections.update', { id, password: 'third secret' }, system);
    await run(before, 'deploy.run', {}, system);
    const app = await restart(NEW, OLD);
    await rewrapSecrets(app);
    expect(await use(app, OLD)).toMatchObject({ entities: 0, active_snapshot: false, snapshots: 1, removable: true });
    expect(await use(app, NEW)).toMatchObject({
      current: true,
      entities: 8,
      active_snapshot: true,
      // The older one shares the server's configuration with the active one.
      snapshots: 2,
      removable: false,
    });
    const after = await restart(NEW);
    expect(await secretFaults(after)).toEqual([]);
    expect((await use(after, OLD))?.snapshots).toBe(1);
    expect((await use(after, OLD))?.history).toBeGreaterThanOrEqual(2);
  });
});

describe('a start', () => {
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'sluice-keys-'));
  });
  afterEach(async () => {
    await stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test('asks the active snapshot for its keys as well', async () => {
    const before = await restart(OLD);
    const { id } = await fill(before);
    const old = await sealedBlobs(before);
    const app = await restart(NEW, OLD);
    await rewrapSecrets(app);
    await run(app, 'connections.delete', { id }, system);
    const { blobs } = app.store.tables;
    for (const { hash, text } of old) await app.store.write((tx) => tx.update(blobs).set({ text }).where(eq(blobs.hash, hash)));
    expect(await refusal(NEW)).toContain(`${keyIdOf(OLD)}, which encrypts secrets of the active snapshot`);
    await restart(NEW, OLD);
    await restart(NEW);
  });

  test('refuses a ciphertext that was moved to another record, without calling its key lost', async () => {
    const app = await restart(OLD);
    await fill(app);
    const { connections } = app.store.tables;
    const { password } = await connectionRow(app);
    await run(app, 'connections.create', { ...draft, name: 'thief' }, system);
    await app.store.write((tx) => tx.update(connections).set({ password }).where(eq(connections.name, 'thief')));
    const error = await requireSecrets(app).catch((fault: unknown) => fault);
    expect((error as AppError).detail).toContain('connection thief');
    expect((error as AppError).detail).not.toContain('SVC_ENCRYPTION_KEY lacks');
    expect(await refusal(OLD)).toContain('connection thief');
  });

  test('needs nothing of a ring that has more keys than are used', async () => {
    await fill(await restart(OLD));
    const app = await restart(OLD, NEW, OTHER);
    expect(await keysReport(app)).toEqual([
      expect.objectContaining({ key_id: keyIdOf(OLD), current: true, entities: 8, removable: false }),
      expect.objectContaining({ key_id: keyIdOf(NEW), entities: 0, snapshots: 0, history: 0, removable: true }),
      expect.objectContaining({ key_id: keyIdOf(OTHER), entities: 0, removable: true }),
    ]);
  });

  test('knows every table that holds secrets: of rows, and of columns that are declared so', async () => {
    const app = await restart(OLD);
    await fill(app);
    await rotateKeys(app);
    const known = [
      'meta',
      'connections',
      'people',
      'server_config',
      'mcp_tokens',
      'blobs',
      'history',
      'signing_keys',
      'audit_keys',
      'definition_keys',
    ];
    for (const [name, table] of Object.entries(app.store.tables)) {
      const rows: unknown[] = await app.store.db.select().from(table as ControlPlane['store']['tables']['tools']);
      if (JSON.stringify(rows).includes('$sealed')) expect(known).toContain(name);
    }
    const declared = readFileSync(new URL('../../../core/store/schema.ts', import.meta.url), 'utf8')
      .split('k.table(')
      .slice(1);
    for (const text of declared.filter((each) => each.includes('json<Sealed'))) {
      expect(known).toContain(/'(\w+)'/.exec(text)?.[1] ?? '');
    }
  });
});
