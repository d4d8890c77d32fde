import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAllowedBy, parseReference } from '#core/lib/text/secret-reference.ts';
import { AppError } from '#core/errors.ts';
import { createLog, type LogLine } from '#core/process/log.ts';
import { createSecretRefs, type SecretRefsOptions } from '#core/process/secret-refs/secret-refs.ts';
import { type TestVault, testVault } from '#test/support/vault.ts';

let folder: string;
let now = 0;
let lines: LogLine[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-refs-'));
  now = 0;
  lines = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const refs = (more: Partial<SecretRefsOptions> = {}) =>
  createSecretRefs({
    environment: {},
    commands: new Map(),
    private_paths: [],
    vault: null,
    ttl_seconds: () => 60,
    log: createLog('DEBUG', (line) => lines.push(line)),
    ticks: () => now,
    ...more,
  });
const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it was read',
    (error: unknown) => (error instanceof AppError && error.code === 'secrets_unavailable' ? error.detail : String(error)),
  );
const write = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return `file:${path}`;
};

test('texts that are references, and texts that are not', () => {
  const good = ['env:DB', 'file:/run/secrets/shop', 'vault:kv/shop/db#password', 'exec:aws', 'exec:aws shop/db eu-west-1'];
  const bad = [
    'DB',
    'env:',
    'env:A-B',
    'file:run/x',
    'file:/run/../etc/shadow',
    'file:/run//x',
    'file:/run/./x',
    'file:/',
    'vault:kv#x',
    'vault:kv/a',
    'vault:kv/../sys/x#y',
    'vault:kv/a?x#y',
    'exec:',
    'exec:/bin/sh',
    'exec:aws --profile x',
    'exec:aws  x',
    'http://x',
  ];
  expect(good.filter((text) => parseReference(text) === null)).toEqual([]);
  expect(bad.filter((text) => parseReference(text) !== null)).toEqual([]);
});

test('a prefix allows what it begins up to a separator', () => {
  const cases: [string, string, boolean][] = [
    ['env:DB_', 'env:DB_PASSWORD', true],
    ['env:DB', 'env:DB', true],
    ['env:DB', 'env:DBX', false],
    ['file:/run/secrets/', 'file:/run/secrets/shop', true],
    ['file:/run/secrets', 'file:/run/secrets/shop', true],
    ['file:/run/secrets', 'file:/run/secrets-of-others/shop', false],
    ['vault:kv/shop', 'vault:kv/shop#password', true],
    ['vault:kv/shop', 'vault:kv/shopping#password', false],
    ['exec:aws', 'exec:aws shop', true],
    ['exec:aws', 'exec:aws-other shop', false],
  ];
  expect(cases.filter(([prefix, ref, allowed]) => isAllowedBy([prefix], ref) !== allowed)).toEqual([]);
  expect(isAllowedBy([], 'env:DB')).toBe(false);
});

describe('a secret', () => {
  test('of the environment is its variable, and never one of Sluice itself', async () => {
    const resolve = refs({ environment: { DB: 'canary', SVC_ENCRYPTION_KEY: 'own', REDIS_PASSWORD: 'own' } });
    expect(await resolve('env:DB')).toBe('canary');
    expect(await refusal(resolve('env:NONE'))).toBe('The secret env:NONE is not set in the environment of this program.');
    for (const name of ['SVC_ENCRYPTION_KEY', 'REDIS_PASSWORD']) {
      expect(await refusal(resolve(`env:${name}`))).toContain('belongs to Sluice itself');
    }
  });

  test('of a file has no line end, may be behind a link, and is not a file of Sluice', async () => {
    const own = join(folder, 'data');
    mkdirSync(own);
    writeFileSync(join(own, 'key'), 'own');
    const ref = write('shop', 'canary\n');
    symlinkSync(join(folder, 'shop'), join(folder, 'link'));
    symlinkSync(join(own, 'key'), join(folder, 'sly'));
    const resolve = refs({ private_paths: [own] });
    expect([await resolve(ref), await resolve(`file:${folder}/link`)]).toEqual(['canary', 'canary']);
    expect(await refusal(resolve(`file:${folder}/sly`))).toContain('belongs to Sluice itself');
    expect(await refusal(resolve(`file:${own}/key`))).toContain('belongs to Sluice itself');
    expect(await refusal(resolve(`file:${folder}/none`))).toContain('does not exist');
    expect(await refusal(resolve(`file:${own.replace('data', '')}data`))).toMatch(/belongs|is a folder|is not a file/);
    expect(await refusal(resolve(write('empty', '\n')))).toContain('is empty');
    expect(await refusal(resolve(write('long', 'x'.repeat(70_000))))).toContain('is longer than 65536 bytes');
  });

  test('of a command is its output; the command sees no variable of Sluice, and its error stays out', async () => {
    const path = join(folder, 'tool');
    writeFileSync(
      path,
      '#!/bin/sh\nif [ "$1" = bad ]; then echo canary >&2; exit 3; fi\necho "$1 $OTHER ${SVC_ENCRYPTION_KEY:-none}"\n',
    );
    chmodSync(path, 0o755);
    const environment = { ...process.env, OTHER: 'other', SVC_ENCRYPTION_KEY: 'own' };
    const resolve = refs({ commands: new Map([['tool', path]]), environment });
    expect(await resolve('exec:tool $(id)')).toBe('$(id) other none');
    const detail = await refusal(resolve('exec:tool bad'));
    expect(detail).toBe('The secret exec:tool bad cannot be read because its command ended with the exit code 3.');
    expect(await refusal(resolve('exec:other'))).toContain('SVC_SECRET_COMMANDS has no command other');
  });
});

describe('the cache', () => {
  test('keeps a secret for its lifetime, and the last one while its source is away', async () => {
    const ref = write('shop', 'first');
    const resolve = refs();
    expect(await resolve(ref)).toBe('first');
    write('shop', 'second');
    now = 59_000;
    expect(await resolve(ref)).toBe('first');
    now = 60_000;
    expect(await resolve(ref)).toBe('second');
    unlinkSync(join(folder, 'shop'));
    now = 200_000;
    expect(await resolve(ref)).toBe('second');
    expect(lines.map(({ message }) => message)).toEqual(['secret_not_read']);
    expect(JSON.stringify(lines)).not.toContain('second');
  });

  test('reads a refused secret again at once, and one that stays refused once a second', async () => {
    const ref = write('shop', 'first');
    const resolve = refs();
    await resolve(ref);
    expect(await resolve(ref, 'first')).toBe('first');
    write('shop', 'second');
    expect(await resolve(ref, 'first')).toBe('first');
    now = 1_000;
    expect(await Promise.all([resolve(ref, 'first'), resolve(ref, 'first')])).toEqual(['second', 'second']);
    write('shop', 'third');
    // Another caller that was refused the first one does not cause a read.
    expect(await resolve(ref, 'first')).toBe('second');
    expect(await resolve(ref, 'second')).toBe('third');
  });
});

describe('Vault', () => {
  let vault: TestVault;
  beforeEach(() => {
    vault = testVault();
    vault.secrets.set('kv/shop/db', { password: 'canary', number: 1 });
  });
  afterEach(() => vault.stop());
  const settings = (more = {}) => ({
    vault: { address: `${vault.url}/`, namespace: null, token: null, token_file: null, role: null, ...more },
  });

  test('gives a field of a secret to a token, within its namespace', async () => {
    vault.tokens.add('root');
    const resolve = refs(settings({ token: 'root', namespace: 'team' }));
    expect(await resolve('vault:kv/shop/db#password')).toBe('canary');
    expect(vault.requests).toEqual([{ path: '/v1/kv/data/shop/db', namespace: 'team' }]);
    expect(await refusal(resolve('vault:kv/shop/db#number'))).toContain('has no text field number');
    expect(await refusal(resolve('vault:kv/other#password'))).toContain('has no secret at this path');
    vault.tokens.clear();
    expect(await refusal(resolve('vault:kv/shop/none#password'))).toContain('refused the token');
    vault.sealed = true;
    expect(await refusal(resolve('vault:kv/shop/none#password'))).toContain('status 503');
    expect(await refusal(refs()('vault:kv/shop/db#password'))).toContain('SVC_VAULT_ADDR is not set');
  });

  test('gets a new token of its AppRole, or of its file, when it refuses the present one', async () => {
    const of_role = refs(settings({ role: { role_id: 'role', secret_id: 'secret' } }));
    expect(await of_role('vault:kv/shop/db#password')).toBe('canary');
    vault.tokens.clear();
    vault.secrets.set('kv/shop/db', { password: 'other' });
    expect(await of_role('vault:kv/shop/db#password', 'canary')).toBe('other');
    expect(await refusal(refs(settings({ role: { role_id: 'no', secret_id: 'no' } }))('vault:kv/shop/db#password'))).toContain(
      'refused the AppRole (status 400)',
    );
    const token_file = write('token', 'second\n').replace('file:', '');
    vault.tokens.add('second');
    expect(await refs(settings({ token: 'first', token_file }))('vault:kv/shop/db#password')).toBe('other');
  });
});
