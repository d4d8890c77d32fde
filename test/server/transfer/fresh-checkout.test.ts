import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { edit, type Shop, shop } from './folder-support.ts';

let t: Shop;
/** The repository. */
let repository: string;
beforeAll(async () => {
  t = await shop();
  repository = t.folder();
  expect(await t.sluice('pull', repository)).toMatchObject({ code: 0 });
  expect(await t.sluice('push', checkout(), '--prune')).toMatchObject({ code: 0, err: '' });
});
afterAll(() => t.stop());

/** What CI checks out: the files, without what git ignores. */
function checkout(): string {
  const folder = t.folder();
  cpSync(repository, folder, { recursive: true });
  rmSync(join(folder, '.sluice/state.json'));
  return folder;
}

const stored = async () => await t.s.call('transfer.export', {});
const fix = async (description: string) => {
  const page = await t.s.call('tools.list', { search: 'products' });
  const { id } = (page as { items: { id: string }[] }).items[0]!;
  expect((await t.s.send('tools.update', { id, description })).status).toBe(200);
};
const ADVICE =
  'on the server since the last push, and this checkout has not pulled it. Pull, commit with .sluice and push, or replace it with --force.\n';

test('a fix made in the interface is not overwritten by a fresh checkout until it is pulled', async () => {
  await fix('Fixed at night');
  edit(repository, 'tools/products.sql', (text) => text.replace(/^(?:title: .*\n)?tags:/m, 'title: Products\ntags:'));
  for (const command of ['plan', 'push']) {
    const refused = { code: 1, err: `tools/products.sql: The tool products was changed ${ADVICE}` };
    expect(await t.sluice(command, checkout(), '--prune')).toMatchObject(refused);
  }
  expect((await stored()).tools[0]?.['description']).toBe('Fixed at night');
  expect(await t.sluice('pull', repository, '--force')).toMatchObject({ code: 0 });
  edit(repository, 'tools/products.sql', (text) => text.replace(/^(?:title: .*\n)?tags:/m, 'title: Products\ntags:'));
  expect(await t.sluice('push', checkout(), '--prune')).toMatchObject({ code: 0, err: '' });
  expect((await stored()).tools[0]).toMatchObject({ description: 'Fixed at night', title: 'Products' });
  // The next change follows the last push, not the last pull.
  edit(repository, 'tools/products.sql', (text) => text.replace('title: Products', 'title: All products'));
  expect(await t.sluice('push', checkout(), '--prune')).toMatchObject({ code: 0, err: '' });
});

test('a push without a change remembers what the files have', async () => {
  await fix('Fixed again');
  expect(await t.sluice('pull', repository, '--force')).toMatchObject({ code: 0 });
  rmSync(join(repository, '.sluice/pulled.json'));
  expect(await t.sluice('push', checkout())).toMatchObject({ code: 0, out: 'Nothing to change.\n' });
  edit(repository, 'tools/products.sql', (text) => text.replace('Fixed again', 'All products.'));
  expect(await t.sluice('push', checkout())).toMatchObject({ code: 0, err: '' });
});

test('what was created, deleted or set in the interface is refused too, and --force replaces it', async () => {
  await t.s.call('prompts.create', { name: 'report', description: 'Ours', template: 'x' });
  const page = await t.s.call('resources.list', {});
  await t.s.send('resources.delete', { id: (page as { items: { id: string }[] }).items[0]?.id });
  await t.s.call('config.update', { server_name: 'Night shop' });
  const refused = await t.sluice('push', checkout(), '--prune');
  expect(refused.code).toBe(1);
  expect(refused.err.split('\n').toSorted()).toEqual(
    [
      '',
      `prompts/: The prompt report was created ${ADVICE.trim()}`,
      `resources/product.sql: The resource product was deleted ${ADVICE.trim()}`,
      `server.yaml: The setting server_name was changed ${ADVICE.trim()}`,
    ].toSorted(),
  );
  expect(await t.sluice('push', checkout(), '--prune', '--force')).toMatchObject({ code: 0 });
  expect(await t.s.call('config.get', {})).toMatchObject({ server_name: 'Sluice' });
});

test('a record that was never pushed is taken over, and hashes of absent records are not stored', async () => {
  await t.s.call('prompts.create', { name: 'summary', description: 'Theirs', template: 'x' });
  writeFileSync(join(repository, 'prompts/summary.md'), '---\ndescription: Ours\n---\nx\n');
  expect(await t.sluice('push', checkout())).toMatchObject({ code: 0, err: '' });
  const pushed = { 'tool:none': 'x', 'setting:none': 'x', 'prompt:summary': 'x' };
  await t.s.call('transfer.import', { format: 'sluice/1', pushed });
  const { records } = await t.s.call('transfer.pushed', {});
  expect(records).toMatchObject({ 'prompt:summary': 'x', 'setting:server_name': expect.any(String) });
  expect(Object.keys(records)).not.toContain('tool:none');
  expect(Object.keys(records)).not.toContain('setting:none');
});
