import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { edit, filesOf, type Shop, shop } from './folder-support.ts';

/** Two installations of one folder in git. */
let staging: Shop;
let production: Shop;
let dir: string;
beforeAll(async () => {
  [staging, production] = await Promise.all([shop(), shop()]);
  dir = staging.folder();
  expect(await staging.sluice('pull', dir)).toMatchObject({ code: 0 });
  // Its stored secret is not sent to another address, so production does not have it yet.
  await production.s.call('connections.delete', { id: (await connectionOf(production))?.id ?? '' });
  put('connections/Lager - Süd.yaml', '# The database that people work with.\nhost: db.example.com\nport: 5433\n');
  put('server.yaml', 'server_name: Shop # for customers\n');
});
afterAll(() => Promise.all([staging.stop(), production.stop()]));

function put(path: string, text: string): void {
  mkdirSync(join(dir, 'overlays/production', path, '..'), { recursive: true });
  writeFileSync(join(dir, 'overlays/production', path), text);
}
const PRODUCTION = ['--overlay', 'production'];
const connectionOf = async ({ s }: Shop) => {
  const { items } = (await s.call('connections.list', { limit: 50 })) as {
    items: { id: string; name: string; version: number; host: string | null; port: number | null; database: string }[];
  };
  return items.find(({ name }) => name === 'Lager / Süd');
};

test('a push with an overlay stores its fields, and one without stores those of the files', async () => {
  expect(await staging.sluice('push', dir)).toMatchObject({ code: 0 });
  const planned = await production.sluice('plan', dir, ...PRODUCTION);
  expect(planned).toMatchObject({ code: 2, err: '' });
  expect(planned.out).toContain('creates the connection Lager / Süd');
  expect(await production.sluice('push', dir, ...PRODUCTION)).toMatchObject({ code: 0 });
  expect(await connectionOf(production)).toMatchObject({ host: 'db.example.com', port: 5433, database: 'x' });
  expect(await connectionOf(staging)).toMatchObject({ host: '127.0.0.1', port: 1, database: 'x' });
  expect(await production.s.call('config.get', {})).toMatchObject({ server_name: 'Shop' });
  expect(await production.sluice('plan', dir, ...PRODUCTION)).toMatchObject({ code: 0, out: 'Nothing to change.\n' });
  expect(await staging.sluice('plan', dir)).toMatchObject({ code: 0, out: 'Nothing to change.\n' });
});

test('a pull writes a changed field where it stands: in the overlay or in the file', async () => {
  const before = filesOf(dir);
  const found = await connectionOf(production);
  const { id = '', version = 0 } = found ?? {};
  await production.s.call('connections.update', { id, version, port: 5434, password: 'a secret of production', pool_size: 3 });
  await production.s.call('config.update', { server_name: 'Our shop' });
  const pulled = await production.sluice('pull', dir, ...PRODUCTION);
  expect(pulled).toMatchObject({ code: 0, err: '' });
  const path = 'connections/Lager - Süd.yaml';
  const after = filesOf(dir);
  expect(after[`overlays/production/${path}`]).toBe('# The database that people work with.\nhost: db.example.com\nport: 5434\n');
  expect(after['overlays/production/server.yaml']).toBe('server_name: Our shop # for customers\n');
  expect(after[path]).toContain('port: 1\n');
  expect(after[path]).toContain('pool_size: 3\n');
  expect(after['server.yaml']).toBe(before['server.yaml'] ?? '');
  expect(await production.sluice('plan', dir, ...PRODUCTION)).toMatchObject({ code: 0, out: 'Nothing to change.\n' });
  // What stands in the file concerns the other installation too.
  expect((await staging.sluice('plan', dir)).out).toContain('Pool size: 4 → 3');
});

test('faults are at the line of the file that has the field', async () => {
  const path = 'connections/Lager - Süd.yaml';
  const refused = async (change: string) => {
    edit(dir, `overlays/production/${path}`, (text) => `${text}${change}`);
    const { code, err } = await production.sluice('plan', dir, ...PRODUCTION);
    edit(dir, `overlays/production/${path}`, (text) => text.slice(0, -change.length));
    expect(code).toBe(1);
    return err;
  };
  const at = `overlays/production/${path}:4: `;
  expect(await refused('pool_size: many\n')).toStartWith(at);
  expect(await refused('password: hunter2\n')).toStartWith(`${at}password is a secret`);
  expect(await refused('name: Other\n')).toStartWith(`${at}An overlay cannot change the name`);
  expect(await refused('nonsense: 1\n')).toStartWith(at);
  expect(await refused('[\n')).toContain(`overlays/production/${path}:`);
  put('tools/products.sql', '---\n---\nselect 1\n');
  put('connections/absent.yaml', 'host: a\n');
  const { err } = await production.sluice('plan', dir, ...PRODUCTION);
  expect(err).toContain('overlays/production/tools/products.sql: An overlay changes connections and settings only.');
  expect(err).toContain('overlays/production/connections/absent.yaml: There is no file connections/absent.yaml that it changes.');
  expect(await production.sluice('plan', dir, '--overlay', 'absent')).toMatchObject({
    code: 1,
    err: 'There is no folder overlays/absent.\n',
  });
  expect(await production.sluice('plan', dir, '--overlay', '../x')).toMatchObject({ code: 1 });
});
