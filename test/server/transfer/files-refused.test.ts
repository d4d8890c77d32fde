import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesOf, type Shop, shop } from './folder-support.ts';

let t: Shop;
beforeAll(async () => {
  t = await shop();
});
afterAll(() => t.stop());

const USAGE = 64;
const pulled = async (): Promise<string> => {
  const dir = t.folder();
  expect(await t.sluice('pull', dir)).toMatchObject({ code: 0, err: '' });
  return dir;
};
const toolOf = async (name: string) => {
  const body = await t.s.call('tools.list', { limit: 500 });
  return body.items.find((tool) => tool.name === name);
};

describe('mistakes are named with file and line', () => {
  const FRONT = '---\nconnection: shop\ndescription: A tool\n';
  test.each([
    ['tools/bad.sql', 'select 1', /^tools\/bad\.sql:1: .*three hyphens/],
    ['tools/bad.sql', `${FRONT}max_rows: many\n---\nselect 1\n`, /^tools\/bad\.sql:4: max_rows must be/],
    ['tools/bad.sql', `${FRONT}max_row: 1\n---\nselect 1\n`, /^tools\/bad\.sql:4: .*max_rows/],
    [
      'tools/bad.sql',
      `${FRONT}parameters:\n  - name: a\n    type: text\n---\nselect 1\n`,
      /^tools\/bad\.sql:6: parameters\.0\.type/,
    ],
    ['tools/bad name.sql', `${FRONT}---\nselect 1\n`, /^tools\/bad name\.sql:\d: name must begin with a letter/],
    ['tools/other.sql', `${FRONT}name: products\n---\nselect 1\n`, /this name too|has this name/],
    ['tools/bad.sql', `${FRONT}---\nselect nothing from products\n`, /^tools\/bad\.sql:5: .*nothing/],
    [
      'tools/bad.sql',
      `---\nconnection: nowhere\ndescription: A tool\n---\nselect 1\n`,
      /^tools\/bad\.sql:2: connection does not match/,
    ],
    ['tools/bad.yaml', 'a: b', /^tools\/bad\.yaml: Files in tools\/ end with \.sql/],
    [
      'connections/bad.yaml',
      'db_type: sqlite\ndatabase: shop.sqlite\npassword: hunter2\n',
      /^connections\/bad\.yaml:3: password is a secret/,
    ],
    ['toolsets/bad.yaml', 'include:\n  tools: [nothing]\n', /^toolsets\/bad\.yaml:2: include\.tools\.0 does not match any tool/],
    ['server.yaml', 'server_nam: x\n', /^server\.yaml:1: .*server_name/],
    [
      'server.yaml',
      'oauth_clients:\n  - client_id: a\n    client_secret: secret-secret-secret\n',
      /^server\.yaml:3: oauth_clients\.0\.client_secret is a secret/,
    ],
  ])('%s', async (path, text, message) => {
    const dir = await pulled();
    writeFileSync(join(dir, path), text);
    for (const command of ['plan', 'push']) {
      const answer = await t.sluice(command, dir);
      expect([answer.code, answer.err]).toEqual([1, expect.stringMatching(message)]);
      expect(answer.err).not.toContain('hunter2');
    }
    expect(await toolOf('bad')).toBeUndefined();
  });

  test('links are refused wherever they stand, and nothing is written through them', async () => {
    const dir = await pulled();
    const outside = t.folder();
    writeFileSync(join(outside, 'secret.sql'), '---\nconnection: shop\ndescription: x\n---\nselect 1\n');
    symlinkSync(join(outside, 'secret.sql'), join(dir, 'tools/linked.sql'));
    expect(await t.sluice('push', dir)).toMatchObject({
      code: 1,
      err: expect.stringContaining('tools/linked.sql: This is a symbolic link'),
    });
    expect(await t.sluice('pull', dir, '--force')).toMatchObject({ code: 0 });
    rmSync(join(dir, 'tools'), { recursive: true });
    symlinkSync(outside, join(dir, 'tools'));
    for (const command of [['plan'], ['push'], ['pull'], ['pull', '--force']]) {
      const [name = '', ...options] = command;
      expect(await t.sluice(name, dir, ...options)).toMatchObject({
        code: 1,
        err: expect.stringContaining('tools: This must be a folder'),
      });
    }
    expect(Object.keys(filesOf(outside))).toEqual(['secret.sql']);
    rmSync(join(dir, 'tools'));
    mkdirSync(join(dir, 'tools/deep'), { recursive: true });
    expect(await t.sluice('plan', dir)).toMatchObject({
      code: 1,
      err: expect.stringContaining('tools/deep: This folder cannot have folders'),
    });
  });

  test('a folder without a configuration is refused, so that --prune cannot empty a server', async () => {
    const empty = t.folder();
    expect(await t.sluice('push', empty, '--prune')).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no configuration in'),
    });
    expect(await t.sluice('push', join(empty, 'missing'), '--prune')).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no folder'),
    });
    expect(existsSync(join(empty, 'missing'))).toBe(false);
  });
});

describe('the address and the token', () => {
  test('come from options or the environment, and are named when they are missing or wrong', async () => {
    const dir = await pulled();
    const env = { SLUICE_URL: t.s.url, SLUICE_TOKEN: t.token };
    expect((await t.with({}, 'plan', dir, '--url', `${t.s.url}/`, '--token', t.token)).code).toBe(0);
    expect(await t.with({ SLUICE_TOKEN: t.token }, 'plan', dir)).toMatchObject({
      code: USAGE,
      err: expect.stringContaining('SLUICE_URL'),
    });
    expect(await t.with({ SLUICE_URL: t.s.url }, 'plan', dir)).toMatchObject({
      code: USAGE,
      err: expect.stringContaining('SLUICE_TOKEN'),
    });
    expect(await t.with({ ...env, SLUICE_URL: 'localhost' }, 'plan', dir)).toMatchObject({ code: USAGE });
    expect((await t.with(env, 'plan')).code).toBe(USAGE);
    expect((await t.with(env, 'plan', dir, '--loud')).code).toBe(USAGE);
    expect(await t.with({ ...env, SLUICE_TOKEN: 'svc_wrong' }, 'plan', dir)).toMatchObject({
      code: 1,
      err: expect.stringContaining('token'),
    });
    expect(await t.with({ ...env, SLUICE_URL: 'http://127.0.0.1:1' }, 'plan', dir)).toMatchObject({
      code: 1,
      err: expect.stringContaining('cannot be reached'),
    });
    const elsewhere = Bun.serve({ port: 0, fetch: () => Response.redirect(t.s.url, 302) });
    const page = Bun.serve({ port: 0, fetch: () => new Response('<html>', { headers: { 'content-type': 'text/html' } }) });
    expect(await t.with({ ...env, SLUICE_URL: elsewhere.url.origin }, 'plan', dir)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`redirects to ${t.s.url}`),
    });
    expect(await t.with({ ...env, SLUICE_URL: page.url.origin }, 'plan', dir)).toMatchObject({
      code: 1,
      err: expect.stringContaining('did not answer as Sluice'),
    });
    await elsewhere.stop(true);
    await page.stop(true);
  });

  test('a token with read alone is refused with the scope it lacks', async () => {
    const body = await t.s.call('agent_tokens.create', { name: 'reader', duration_minutes: 15, scopes: ['read'] });
    const environment = { SLUICE_URL: t.s.url, SLUICE_TOKEN: body.token };
    expect(await t.with(environment, 'pull', t.folder())).toMatchObject({ code: 1, err: 'This token lacks the scope write.\n' });
  });
});
