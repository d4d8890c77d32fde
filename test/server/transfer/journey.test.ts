import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { connectHost } from '#test/support/host.ts';
import { type Shop, shop } from './folder-support.ts';

const PROGRAM = resolve(import.meta.dir, '../../../server/sluice.ts');
let t: Shop;
beforeAll(async () => {
  t = await shop();
  connectHost(t.s.server.app);
});
afterAll(() => t.stop());

/** The command as people run it: a process of its own, in their folder, with nothing but the address and a token. */
async function sluice(cwd: string, line: string, environment: Record<string, string> = {}) {
  const child = Bun.spawn([process.execPath, PROGRAM, ...line.split(' ')], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', SLUICE_URL: t.s.url, SLUICE_TOKEN: t.token, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()));
  return { code: await child.exited, out, err };
}

test('two people change one server from their folders, with mistakes, and CI can tell what came of it', async () => {
  const [ours, theirs] = [t.folder(), t.folder()];
  const write = (folder: string, file: string, text: string) => writeFileSync(join(folder, 'shop', file), text);
  const edit = (folder: string, file: string, from: string, to: string) =>
    write(folder, file, readFileSync(join(folder, 'shop', file), 'utf8').replace(from, to));

  expect(await sluice(ours, 'pull shop')).toMatchObject({ code: 0, err: '' });
  expect(await sluice(ours, 'plan shop')).toMatchObject({ code: 0, out: 'Nothing to change.\n' });
  edit(ours, 'tools/products.sql', 'All products.', 'Every product.');
  edit(ours, 'tools/products.sql', 'tags:', '# A comment stays\ntags:');
  const planned = await sluice(ours, 'plan shop');
  expect([planned.code, planned.out]).toEqual([2, expect.stringContaining('+ Every product.') as string]);

  // Mistakes, each named with its file and line.
  const mistakes: readonly (readonly [file: string, text: string, said: string])[] = [
    ['tools/bad.sql', '---\nconnection: shop\ndescription: [open\n---\nselect 1\n', 'tools/bad.sql:4: The YAML cannot be read'],
    ['tools/bad.sql', 'connection: shop\nselect 1\n', 'tools/bad.sql:1: The file must begin with YAML'],
    [
      'tools/bad.sql',
      '---\nconnection: shop\ndescription: Colours\n---\nselect colour from products\n',
      'no such column: colour',
    ],
    ['tools/bad.sql', '---\nconnection: shopp\ndescription: Ones\n---\nselect 1 as one\n', 'tools/bad.sql:2: connection'],
  ];
  for (const [file, text, said] of mistakes) {
    write(ours, file, text);
    for (const command of ['plan shop', 'push shop']) {
      expect(await sluice(ours, command)).toMatchObject({ code: 1, err: expect.stringContaining(said) });
    }
    rmSync(join(ours, 'shop', file));
  }
  const refused: readonly (readonly [line: string, environment: Record<string, string>, code: number, said: string])[] = [
    ['plan shop', { SLUICE_TOKEN: 'svc_wrong' }, 1, 'The bearer token is not valid'],
    ['plan shop', { SLUICE_URL: 'http://127.0.0.1:1' }, 1, 'http://127.0.0.1:1 cannot be reached.'],
    ['plan nowhere', {}, 1, 'There is no folder'],
    ['plan shop', { SLUICE_URL: '' }, 64, 'Set SLUICE_URL or pass --url'],
    ['plan shop', { SLUICE_TOKEN: '' }, 64, 'Set SLUICE_TOKEN or pass --token'],
    ['plan shop --nope', {}, 64, "Unknown option '--nope'.\nUsage: sluice plan <folder>"],
    ['plam shop', {}, 64, 'Did you mean plan?'],
  ];
  for (const [line, environment, code, said] of refused) {
    expect([line, await sluice(ours, line, environment)]).toMatchObject([line, { code, err: expect.stringContaining(said) }]);
  }

  expect(await sluice(ours, 'push shop --deploy --note ours')).toMatchObject({
    code: 0,
    out: expect.stringContaining('Version 1 deployed.'),
  });
  // A checkout on another machine: without what the first folder remembers.
  cpSync(join(ours, 'shop'), join(theirs, 'shop'), { recursive: true });
  rmSync(join(theirs, 'shop/.sluice'), { recursive: true });
  expect(await sluice(theirs, 'plan shop')).toMatchObject({ code: 0 });
  edit(theirs, 'tools/products.sql', 'Every product.', 'Each product.');
  expect(await sluice(theirs, 'plan shop')).toMatchObject({ code: 2 });
  expect(await sluice(theirs, 'push shop')).toMatchObject({ code: 0 });
  expect(readFileSync(join(theirs, 'shop/tools/products.sql'), 'utf8')).toContain('# A comment stays');

  expect(await sluice(ours, 'push shop')).toMatchObject({ code: 1, err: expect.stringContaining('Pull first, or') });
  expect(await sluice(ours, 'pull shop')).toMatchObject({ code: 0 });
  const undeployed = 'Nothing to change.\nA change is stored on the server and not deployed. push --deploy deploys it too.\n';
  expect(await sluice(ours, 'plan shop')).toMatchObject({ code: 2, out: undeployed });
  const pulled = readFileSync(join(ours, 'shop/tools/products.sql'), 'utf8');
  expect(pulled).toMatch(/Each product\.[^]*# A comment stays\ntags:/);
}, 120_000);
