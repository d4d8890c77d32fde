import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Secret, TOTP } from 'otpauth';
import { keyIdOf } from '#core/lib/secrets.ts';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { COMMANDS, runCli } from '#server/cli/program.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, redisUrl, testDatabase } from '#test/support/databases.ts';
import { startPrograms } from '#test/support/programs.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KEY = 'first-key-first-key-first-key-first';
const NEXT = 'second-key-second-key-second-key-2';
const SECRET = 'a-secret-a-secret-a-secret-a-secret';
const secrets = { SVC_ENCRYPTION_KEY: KEY, SVC_JWT_SECRET: SECRET, SVC_AGENT_SERVICE_TOKEN: SECRET };
const account = { username: 'ada', password: 'correct horse' };
const CONNECTION = { name: 'shop', db_type: 'postgresql', host: '127.0.0.1', port: 1, database: 'shop', username: 'reader' };

let t: TestApp;
let environment: Record<string, string>;
beforeEach(async () => {
  t = await testApp(secrets);
  environment = { SVC_ENV: 'dev', SVC_KV: 'memory', SVC_ALLOW_PRIVATE_NETWORKS: 'true', ...secrets, SVC_DATA_DIR: t.directory };
});
afterEach(() => t.close());

/** Runs a command in this process, beside the server of the test. */
async function cli(args: string[], over: Record<string, string> = {}, input = '') {
  let [out, err] = ['', ''];
  const code = await runCli(args, {
    environment: { ...environment, ...over },
    stdin: Readable.from([input]),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  });
  return { code, out, err };
}

const login = async (password: string) => (await t.send('auth.login', { ...account, password })).status;
const me = async () => (await t.send('auth.me')).status;
const entries = () => t.app.store.db.select().from(t.app.store.tables.history).orderBy(t.app.store.tables.history.id);
const addConnection = (password: string) => t.send('connections.create', { ...CONNECTION, password });

describe('the command line', () => {
  test('explains itself, and refuses what it does not know with exit code 64', async () => {
    const help = await cli(['help']);
    expect([help.code, help.err]).toEqual([0, '']);
    for (const { usage, summary } of Object.values(COMMANDS)) {
      expect(help.out).toContain(usage);
      expect(help.out).toContain(summary);
    }
    expect(await cli(['backup', '--help'])).toMatchObject({ code: 0, out: expect.stringContaining('sluice backup <file>') });
    expect(await cli(['--version'])).toEqual({ code: 0, out: `${PRODUCT_VERSION}\n`, err: '' });
    expect((await cli([])).code).toBe(64);
    expect(await cli(['chek'])).toMatchObject({ code: 64, err: expect.stringContaining('Did you mean check?') });
    expect(await cli(['sing'])).toMatchObject({ code: 64, err: 'There is no command sing. sluice help lists them.\n' });
    const wrong = 'backup; export x; check --loud; import x --mode all; keys lose; constructor; people constructor ada';
    for (const line of wrong.split('; ')) expect(await cli(line.split(' '))).toMatchObject({ code: 64, out: '' });
  });

  test('is in the operations guide, command by command', () => {
    const readme = readFileSync(join(ROOT, 'OPERATIONS.md'), 'utf8');
    for (const { usage } of Object.values(COMMANDS)) expect(readme).toContain(`| \`${usage.replaceAll('|', '\\|')}\` |`);
  });

  test('makes no database where there is none', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
    for (const args of [['keys', 'status'], ['export'], ['reset-2fa'], ['backup', join(empty, 'copy')]]) {
      const answer = await cli(args, { SVC_DATA_DIR: empty });
      expect(answer).toMatchObject({ code: 1, err: expect.stringContaining('SVC_DATA_DIR') });
    }
    expect(existsSync(join(empty, 'sluice.sqlite'))).toBe(false);
    rmSync(empty, { recursive: true });
  });
});

describe('reset-password', () => {
  test('refuses a short password and a stranger, and changes nothing by that', async () => {
    expect(await cli(['reset-password'], {}, 'new password')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no person yet'),
    });
    await t.signIn();
    expect(await cli(['reset-password'], {}, 'short\n')).toMatchObject({
      code: 1,
      err: expect.stringContaining('at least 8 characters'),
    });
    expect((await cli(['reset-password'], {}, '')).code).toBe(1);
    expect((await cli(['reset-password', '--username', 'eve'], {}, 'new password')).code).toBe(1);
    expect(await me()).toBe(200);
    expect(await entries()).toHaveLength(1);
  });

  test('sets the first line of the input, beside a running server; every session ends', async () => {
    await t.signIn();
    const answer = await cli(['reset-password', '--username', 'ada'], {}, 'new password\r\nanother line');
    expect(answer).toEqual({ code: 0, out: 'The password of ada was changed. One session ended.\n', err: '' });
    expect(await me()).toBe(401);
    expect(await login('correct horse')).toBe(401);
    expect(await login('new password')).toBe(200);
    const last = (await entries()).at(-1);
    expect(last).toMatchObject({ entity_type: 'admin', action: 'update', actor: { type: 'system', name: 'command line' } });
    expect(JSON.stringify(last)).not.toContain('new password');
  });
});

test('reset-2fa turns the second factor off and ends every session and half-done sign-in', async () => {
  await t.signIn();
  expect(await cli(['reset-2fa'])).toMatchObject({ code: 0, out: expect.stringContaining('already off') });
  expect(await me()).toBe(200);
  const { secret } = await t.call('two_factor.setup', { password: account.password });
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  const code = () => totp.generate({ timestamp: t.app.clock().getTime() });
  await t.call('two_factor.verify_setup', { code: code() });
  t.advance(60_000);
  const asked = await t.call('auth.login', account, { anonymous: true });
  const pending_token = 'pending_token' in asked ? asked.pending_token : null;
  expect(await cli(['reset-2fa'])).toMatchObject({ code: 0, out: expect.stringContaining('is off. One session ended.') });
  expect(await me()).toBe(401);
  const late = await t.send('two_factor.login', { pending_token, code: code() });
  expect(late.status).toBe(401);
  expect((await t.call('auth.login', account)).totp_required).toBe(false);
  expect(await t.call('two_factor.status', {})).toEqual({ totp_enabled: false, recovery_codes_remaining: 0 });
});

describe('people', () => {
  const accept = (link: string, body: object) => {
    const token = /#(svc_invite_\w+)/.exec(link)?.[1];
    return t.send('auth.accept_invite', { token, ...body }, { anonymous: true });
  };

  test('are added with a link, listed, changed and removed', async () => {
    await t.signIn();
    const added = await cli([
      'people',
      'add',
      'grace',
      '--role',
      'editor',
      '--groups',
      'sales, emea',
      '--email',
      'g@example.com',
    ]);
    expect([added.code, added.err]).toEqual([0, '']);
    expect((await accept(added.out, { password: 'a long password' })).body).toMatchObject({ username: 'grace' });
    const listed = await cli(['people', 'list']);
    expect(listed.out).toMatch(/^username +role +state +last seen +groups$/m);
    expect(listed.out).toMatch(/^ada +owner +enabled +2026-03-01T12:00:00\.000Z$/m);
    expect(listed.out).toMatch(/^grace +editor +enabled +\S+ +sales, emea$/m);
    const set = await cli(['people', 'set', 'grace', '--role', 'viewer', '--disable', '--groups', '']);
    expect(set).toEqual({ code: 0, out: 'grace: role viewer, disabled.\n', err: '' });
    expect((await cli(['people', 'invite', 'grace'])).err).toContain('disabled');
    expect(await cli(['people', 'remove', 'grace'])).toEqual({ code: 0, out: 'grace was removed.\n', err: '' });
    expect(await cli(['people', 'remove', 'grace'])).toMatchObject({ code: 1, err: expect.stringContaining('no person') });
    const last = (await entries()).at(-1);
    expect(last).toMatchObject({ action: 'delete', entity_name: 'grace', actor: { type: 'system', name: 'command line' } });
  });

  test('a wrong command line is refused, and the last owner stays', async () => {
    await t.signIn();
    for (const args of [
      ['people'],
      ['people', 'add'],
      ['people', 'list', 'ada'],
      ['people', 'lose', 'ada'],
      ['people', 'set', 'ada'],
      ['people', 'set', 'ada', '--role', 'root'],
      ['people', 'set', 'ada', '--enable', '--disable'],
    ]) {
      expect([args, (await cli(args)).code]).toEqual([args, 64]);
    }
    for (const args of [
      ['set', 'ada', '--disable'],
      ['set', 'ada', '--role', 'admin'],
      ['remove', 'ada'],
      ['add', 'ADA'],
    ]) {
      expect([args, (await cli(['people', ...args])).code]).toEqual([args, 1]);
    }
    expect(await me()).toBe(200);
  });

  test('an owner who is locked out comes back', async () => {
    await t.signIn();
    const { people } = t.app.store.tables;
    await t.app.store.write((tx) => tx.update(people).set({ role: 'viewer', enabled: false }));
    expect(await cli(['check'])).toMatchObject({ code: 1, out: expect.stringContaining('No owner can sign in') });
    expect((await cli(['people', 'set', 'ada', '--role', 'owner', '--enable'])).code).toBe(0);
    expect((await cli(['reset-password'], {}, 'new password')).code).toBe(0);
    expect(await login('new password')).toBe(200);
    await cli(['people', 'add', 'grace']);
    const unnamed = await cli(['reset-password'], {}, 'new password');
    expect([unnamed.code, unnamed.err]).toEqual([64, expect.stringContaining('--username')]);
  });
});

test('keys status says what each key protects, rewrap frees the old one', async () => {
  await t.signIn();
  await addConnection('hunter2 hunter2');
  const both = { SVC_ENCRYPTION_KEY: `${NEXT},${KEY}` };
  const before = await cli(['keys', 'status'], both);
  expect(before.code).toBe(0);
  expect(before.out).toMatch(new RegExp(`${keyIdOf(KEY)} +yes +2 .*needed`));
  const lost = await cli(['keys', 'status'], { SVC_ENCRYPTION_KEY: NEXT });
  expect(lost.code).toBe(1);
  expect(lost.err).toContain(`lacks the key ${keyIdOf(KEY)}`);
  expect(lost.out).toMatch(new RegExp(`${keyIdOf(KEY)} +no +.*missing: the server does not start`));
  expect(await cli(['keys', 'rewrap'], { SVC_ENCRYPTION_KEY: NEXT })).toMatchObject({
    code: 1,
    err: expect.stringContaining(keyIdOf(KEY)),
  });
  const after = await cli(['keys', 'rewrap'], both);
  expect(after.code).toBe(0);
  expect(after.out).toContain('Re-encrypted: 1 records.');
  expect(after.out).toMatch(new RegExp(`${keyIdOf(KEY)} +yes +0 .*can be removed`));
  expect(await cli(['keys', 'status'], { SVC_ENCRYPTION_KEY: NEXT })).toMatchObject({ code: 0 });
  for (const { out, err } of [before, lost, after])
    for (const text of [KEY, NEXT, 'hunter2']) expect(out + err).not.toContain(text);
});

describe('export and import', () => {
  test('carry the configuration to another installation, without secrets', async () => {
    await t.signIn();
    await addConnection('hunter2 hunter2');
    const file = join(t.directory, 'export.json');
    expect(await cli(['export', '--out', file])).toEqual({ code: 0, out: '', err: '' });
    const text = readFileSync(file, 'utf8');
    expect(text).not.toContain('hunter2');
    expect(JSON.parse((await cli(['export'])).out)).toMatchObject({ format: 'sluice/1', connections: [{ name: 'shop' }] });

    // An export needs no key, so a lost one loses the secrets alone.
    for (const SVC_ENCRYPTION_KEY of ['', NEXT]) {
      const { err, out } = await cli(['export'], { SVC_ENV: 'production', SVC_ENCRYPTION_KEY, SVC_JWT_SECRET: '' });
      expect(err).toBe('');
      expect(JSON.parse(out)).toMatchObject({ connections: [{ name: 'shop' }] });
    }
    const other = { SVC_DATA_DIR: join(t.directory, 'other') };
    const rehearsal = await cli(['import', file, '--dry-run'], other);
    expect([rehearsal.code, JSON.parse(rehearsal.out)]).toMatchObject([0, { dry_run: true, created: { connections: 1 } }]);
    expect(JSON.parse((await cli(['export'], other)).out)).toMatchObject({ connections: [] });
    expect((await cli(['import', file, '--mode', 'overwrite', '--server-config'], other)).code).toBe(0);
    expect(JSON.parse((await cli(['export'], other)).out)).toMatchObject({ connections: [{ name: 'shop' }] });
  });

  test('refuse what is no export, and store nothing of one with a fault', async () => {
    const file = join(t.directory, 'broken.json');
    expect(await cli(['import', file])).toMatchObject({ code: 1, err: expect.stringContaining('cannot be read') });
    for (const text of ['{', '[]', '{"format":"other"}']) {
      writeFileSync(file, text);
      expect((await cli(['import', file])).code).toBe(1);
    }
    const good = { ...CONNECTION, name: 'good' };
    writeFileSync(file, JSON.stringify({ format: 'sluice/1', connections: [good, { ...CONNECTION, db_type: 'abacus' }] }));
    expect((await cli(['import', file])).code).toBe(1);
    expect((await cli(['import', file, '--dry-run'])).code).toBe(1);
    expect(await t.app.store.db.select().from(t.app.store.tables.connections)).toEqual([]);
  });
});

describe('check', () => {
  test('finds nothing wrong with what is right', async () => {
    await t.signIn();
    const { code, out } = await cli(['check']);
    expect(code).toBe(0);
    expect(out).toMatch(/ok +secrets +All open\./);
    expect(out).toMatch(/ok +people +1 person; owners: ada \(second factor off\)\./);
    expect(out).not.toContain('fault');
  });

  test('names every fault of the environment at once', async () => {
    const { code, out } = await cli(['check'], {
      SVC_ENV: 'production',
      SVC_JWT_SECRET: 'short',
      SVC_PORT: 'x',
      SVC_KV: 'redis',
    });
    expect(code).toBe(1);
    for (const name of ['SVC_JWT_SECRET', 'SVC_PORT', 'REDIS_PASSWORD'])
      expect(out).toMatch(new RegExp(`fault +environment +${name}`));
    expect(out).not.toContain('short ');
  });

  test('names the lost key, the folder and the stores that do not answer', async () => {
    await t.signIn();
    await addConnection('hunter2 hunter2');
    const lost = await cli(['check'], { SVC_ENCRYPTION_KEY: NEXT });
    expect([lost.code, lost.out]).toEqual([
      1,
      expect.stringMatching(new RegExp(`fault +secrets +.*${keyIdOf(KEY)}.*connection shop`)),
    ]);
    const folder = await cli(['check'], { SVC_GENERATED_DIR: join(t.directory, 'sluice.sqlite/below') });
    expect([folder.code, folder.out]).toEqual([1, expect.stringMatching(/fault +folders +SVC_GENERATED_DIR/)]);
    const redis = await cli(['check'], { SVC_KV: 'redis', SVC_REDIS_URL: 'redis://:hunter2@127.0.0.1:1/0' });
    expect([redis.code, redis.out]).toEqual([1, expect.stringMatching(/fault +key-value store/)]);
    const database = await cli(['check'], { SVC_DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/meta' });
    expect([database.code, database.out]).toEqual([1, expect.stringMatching(/fault +metadata database +PostgreSQL/)]);
    for (const { out, err } of [lost, folder, redis, database]) expect(out + err).not.toContain('hunter2');
  });

  test.skipIf(!reachable.postgres || !reachable.redis)('opens PostgreSQL and Redis (needs both)', async () => {
    const database = await testDatabase('postgresql');
    const { host, port, username, database: name } = database.settings;
    const SVC_DATABASE_URL = `postgres://${username}@${host}:${port}/${name}`;
    const { code, out } = await cli(['check'], { SVC_DATABASE_URL, SVC_KV: 'redis', SVC_REDIS_URL: redisUrl });
    await database.drop();
    expect(code).toBe(0);
    expect(out).toMatch(/ok +metadata database +PostgreSQL opens\./);
    expect(out).toMatch(/ok +key-value store +Redis answers\./);
  });
});

describe('the program itself', () => {
  const program = (script: string, args: string[], env: Record<string, string>) =>
    Bun.spawn([process.execPath, script, ...args], {
      cwd: t.directory,
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdin: new TextEncoder().encode('new password\n'),
      stdout: 'pipe',
      stderr: 'pipe',
    });

  test('reads standard input, and finds the secrets that npm start generated', async () => {
    await t.signIn();
    writeFileSync(join(t.directory, 'dev-secrets.json'), JSON.stringify(secrets));
    const child = program(join(ROOT, 'server/cli.ts'), ['reset-password'], { SVC_DATA_DIR: t.directory });
    expect(await new Response(child.stderr).text()).toBe('');
    expect([await child.exited, await new Response(child.stdout).text()]).toEqual([
      0,
      'The password of ada was changed. One session ended.\n',
    ]);
    expect(await login('new password')).toBe(200);
    const wrong = program(join(ROOT, 'server/cli.ts'), ['nonsense'], {});
    expect(await wrong.exited).toBe(64);
  });

  test('asks twice on a terminal and shows nothing of what is typed', async () => {
    await t.signIn();
    let screen = '';
    const child = Bun.spawn([process.execPath, join(ROOT, 'server/cli.ts'), 'reset-password'], {
      env: { PATH: process.env['PATH'] ?? '', ...environment },
      terminal: { cols: 80, rows: 24, data: (_, bytes) => void (screen += Buffer.from(bytes).toString()) },
    });
    const answer = async (question: string, typed: string) => {
      while (!screen.includes(question)) await Bun.sleep(10);
      child.terminal?.write(typed);
    };
    await answer('New password: ', 'quiet otx\u007fter\r');
    await answer('Once more: ', 'quiet otter\r');
    expect(await child.exited).toBe(0);
    expect(screen).toContain('The password of ada was changed.');
    expect(screen).not.toContain('ott');
    expect(await login('quiet otter')).toBe(200);
  });

  test('sluice server starts no other program', async () => {
    const command = [process.execPath, join(ROOT, 'server/sluice.ts'), 'server'];
    const programs = await startPrograms({ command, directory: t.directory, env: { ...environment, SVC_DEMO: 'false' } });
    const { pid } = programs.process;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    await programs.stop();
    expect(children).toBe('');
  });

  test('a server whose key is lost does not start, and says which', async () => {
    await t.signIn();
    await addConnection('hunter2 hunter2');
    const env = { ...environment, SVC_PORT: '0', SVC_ROLE: 'server', SVC_DEMO: 'false' };
    const child = program(join(ROOT, 'server/main.ts'), [], { ...env, SVC_ENCRYPTION_KEY: NEXT });
    expect(await child.exited).toBe(1);
    expect(await new Response(child.stderr).text()).toContain(keyIdOf(KEY));
  });
});
