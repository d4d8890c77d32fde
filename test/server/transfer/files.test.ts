import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOMS } from '#core/transfer/files/layout.ts';
import type { LocalRecord } from '#core/transfer/files/local.ts';
import { configurationAfterPush, type Plan } from '#core/transfer/files/plan.ts';
import type { Configuration } from '#core/transfer/files/records.ts';
import { edit, filesOf, type Shop, shop, TOOL } from './folder-support.ts';

let t: Shop;
beforeAll(async () => {
  t = await shop();
});
afterAll(() => t.stop());

const pulled = async (): Promise<string> => {
  const dir = t.folder();
  expect(await t.sluice('pull', dir)).toMatchObject({ code: 0, err: '' });
  return dir;
};
const toolOf = async (name: string) => {
  const page = await t.s.call('tools.list', { limit: 500 });
  return (page as { items: { id: string; name: string; description: string; sql_query: string }[] }).items.find(
    (tool) => tool.name === name,
  );
};

describe('pull', () => {
  test('writes one file per record, readable, without a secret, and nothing at the second time', async () => {
    const dir = await pulled();
    const files = filesOf(dir);
    expect(Object.keys(files)).toEqual([
      'connections/Lager - Süd.yaml',
      'connections/shop.yaml',
      'prompts/greet.md',
      'resources/product.sql',
      'server.yaml',
      'tools/products.sql',
      'toolsets/sales.yaml',
    ]);
    expect(files['connections/Lager - Süd.yaml']).toStartWith('name: Lager / Süd\n');
    expect(files['tools/products.sql']).toEndWith(`---\n${TOOL.sql_query}\n`);
    expect(JSON.stringify(files)).not.toContain('canary-password');
    expect(await t.sluice('plan', dir)).toEqual({ code: 0, out: 'Nothing to change.\n', err: '' });
    expect(await t.sluice('pull', dir)).toMatchObject({ code: 0, out: '0 created, 0 changed, 0 deleted, 7 unchanged.\n' });
    expect(filesOf(dir)).toEqual(files);
  });

  test('keeps comments, order and file names, and brings what changed on the server', async () => {
    const dir = await pulled();
    renameSync(join(dir, 'tools/products.sql'), join(dir, 'tools/Catalogue.sql'));
    edit(dir, 'tools/Catalogue.sql', (text) =>
      text
        .replace('---\n', '---\n# All that we sell.\nname: products # as callers know it\n')
        .replace('tags:\n', 'tags: # for the sales toolset\n')
        .replace('    type: string\n', '    type: string # a pattern of LIKE\n'),
    );
    expect(await t.sluice('plan', dir)).toMatchObject({ code: 0 });
    const tool = await toolOf('products');
    const body = {
      description: 'Everything that is sold',
      parameters: [...TOOL.parameters, { name: 'most', type: 'integer', required: false }],
    };
    expect(
      (await t.s.send('tools.update', { id: tool?.id, ...body, sql_query: `${TOOL.sql_query}\n[[limit :most]]` })).status,
    ).toBe(200);
    expect(await t.sluice('pull', dir)).toMatchObject({ code: 0, out: expect.stringContaining('~ tools/Catalogue.sql\n') });
    expect(filesOf(dir)['tools/Catalogue.sql']).toBe(`---
# All that we sell.
name: products # as callers know it
connection: shop
description: Everything that is sold
parameters:
  - name: name
    type: string # a pattern of LIKE
    description: A pattern
    required: false
  - name: most
    type: integer
    required: false
tags: # for the sales toolset
  - catalogue
read_only: true
---
${TOOL.sql_query}
[[limit :most]]
`);
    const { connection: _, name: _name, ...original } = TOOL;
    expect((await t.s.send('tools.update', { id: tool?.id, ...original })).status).toBe(200);
  });

  test('replaces no change that was not pushed, and deletes the file of what was deleted on the server', async () => {
    await t.s.call('transfer.import', {
      format: 'sluice/1',
      prompts: ['one', 'two'].map((name) => ({ name, description: name, template: name })),
    });
    const dir = await pulled();
    const page = await t.s.call('prompts.list', {});
    for (const { id, name } of (page as { items: { id: string; name: string }[] }).items) {
      if (name !== 'greet') await t.s.call('prompts.delete', { id });
    }
    edit(dir, 'prompts/two.md', (text) => text.replace('description: two', 'description: mine'));
    const before = filesOf(dir);
    expect(await t.sluice('pull', dir)).toMatchObject({
      code: 1,
      err: expect.stringContaining('prompts/two.md has changes that were not pushed'),
    });
    expect(filesOf(dir)).toEqual(before);
    expect(await t.sluice('pull', dir, '--force')).toMatchObject({ code: 0, out: expect.stringContaining('- prompts/one.md') });
    expect(Object.keys(filesOf(dir))).toContain('prompts/two.md');
    expect(await t.sluice('pull', dir, '--prune', '--force')).toMatchObject({
      code: 0,
      out: expect.stringContaining('- prompts/two.md'),
    });
  });

  test('replaces no file that the server never had, nor one of a checkout without a memory', async () => {
    const prompt = (description: string) => ({ name: 'report', description, template: 'x' });
    const dir = await pulled();
    writeFileSync(join(dir, 'prompts/report.md'), '---\ndescription: mine\n---\nx\n');
    await t.s.call('prompts.create', prompt('theirs'));
    const said = 'prompts/report.md has changes that were not pushed';
    expect(await t.sluice('pull', dir)).toMatchObject({ code: 1, err: expect.stringContaining(said) });
    expect(filesOf(dir)['prompts/report.md']).toContain('mine');
    rmSync(join(dir, '.sluice'), { recursive: true });
    edit(dir, 'server.yaml', (text) => text.replace(/^server_name: .*$/m, 'server_name: Mine'));
    const err = expect.stringMatching(/prompts\/report\.md has changes[^]*server\.yaml has changes/);
    expect(await t.sluice('pull', dir)).toMatchObject({ code: 1, err });
    expect(await t.sluice('pull', dir, '--force')).toMatchObject({ code: 0 });
    expect(filesOf(dir)['prompts/report.md']).toContain('theirs');
    const page = await t.s.call('prompts.list', { search: 'report' });
    await t.s.send('prompts.delete', { id: (page as { items: { id: string }[] }).items[0]?.id });
  });
});

test('what others changed while a push was stored is theirs at the next one', () => {
  const room = ROOMS.find(({ kind }) => kind === 'prompt')!;
  const record = (name: string, description: string) => ({ id: `prompt:${name}`, name, room, values: { name, description } });
  const server = (...all: ReturnType<typeof record>[]): Configuration => ({
    records: new Map(all.map((one) => [one.id, one])),
    settings: { server_name: 'Shop', default_pool_size: 4 },
  });
  const before = server(record('a', '1'), record('b', '1'), record('c', '1'));
  const mine = {
    ...record('a', '2'),
    path: 'prompts/a.md',
    text: '',
    sent: {},
    positionOf: () => ({ path: 'prompts/a.md', line: 1 }),
  } satisfies LocalRecord;
  const plan: Plan = {
    changes: [
      { action: 'update', record: mine, before: record('a', '1').values },
      { action: 'delete', record: record('c', '1') },
    ],
    settings: { default_pool_size: 5 },
    settings_before: {},
    left: [],
    conflicts: [],
    unchanged: 1,
  };
  const after = {
    ...server(record('a', '2'), record('b', 'theirs'), record('d', 'theirs')),
    settings: { server_name: 'Theirs' },
  };
  const left = configurationAfterPush(plan, before, after);
  expect([...left.records.values()].map(({ name, values }) => [name, values['description']])).toEqual([
    ['a', '2'],
    ['b', '1'],
  ]);
  expect(left.settings).toEqual({ server_name: 'Shop', default_pool_size: 5 });
});

describe('plan and push', () => {
  test('show what would change in words, store it in one transaction, and pull finds it as it was written', async () => {
    const dir = await pulled();
    edit(dir, 'tools/products.sql', (text) =>
      text.replace('select id, name, price', 'select id, name, price * 2 as price # double'.replace(' # double', '')),
    );
    edit(dir, 'connections/shop.yaml', (text) => `# Ours\n${text}pool_size: 2 # small\n`);
    writeFileSync(
      join(dir, 'tools/count_products.sql'),
      '---\nconnection: shop\ndescription: How many products there are\n---\nselect count(*) as n from products\n',
    );
    const planned = await t.sluice('plan', dir);
    expect(planned).toEqual({
      code: 2,
      err: '',
      out: `~ connections/shop.yaml  changes the connection shop
    Pool size: 4 → 2
+ tools/count_products.sql  creates the tool count_products
~ tools/products.sql  changes the tool products
    SQL:
      - select id, name, price
      + select id, name, price * 2 as price
        from products
      … 1 equal line
1 to create, 2 to change, 0 to delete, 4 unchanged.
Lint: 0 warnings, 2 suggestions.
`,
    });
    expect(await toolOf('count_products')).toBeUndefined();
    const files = filesOf(dir);
    expect(await t.sluice('push', dir)).toMatchObject({ code: 0, err: '', out: expect.stringContaining('Stored.\n') });
    expect(await toolOf('count_products')).toMatchObject({ sql_query: 'select count(*) as n from products' });
    expect(await t.sluice('plan', dir)).toMatchObject({ code: 0, out: 'Nothing to change.\n' });
    expect(await t.sluice('pull', dir)).toMatchObject({ code: 0 });
    expect(filesOf(dir)).toEqual(files);
    const page = await t.s.call('history.list', { limit: 3 });
    const entries = (page as { items: { action: string; batch_id: string; actor: { name: string } }[] }).items;
    expect(new Set(entries.map(({ action, batch_id, actor }) => `${action} ${batch_id} ${actor.name}`)).size).toBe(1);
    expect(entries[0]).toMatchObject({ action: 'import', actor: { name: 'ci' } });
  });

  test('push onto an empty installation gives the same files there, and names the secrets that are missing', async () => {
    const dir = await pulled();
    const other = await shop({}, false);
    try {
      // Who sees what is for people to say: a token only prepares a toolset.
      const refused = 'toolsets/sales.yaml:1: A toolset that a token creates must have enabled false; a person enables it.\n';
      expect(await other.sluice('push', dir)).toMatchObject({ code: 1, err: refused });
      expect((await other.s.call('tools.list', {})).total).toBe(0);
      edit(dir, 'toolsets/sales.yaml', (text) => `${text}enabled: false\n`);
      const answer = await other.sluice('push', dir);
      expect(answer).toMatchObject({ code: 0, out: expect.stringContaining('The connection Lager / Süd needs password') });
      const again = other.folder();
      expect(await other.sluice('pull', again)).toMatchObject({ code: 0 });
      expect(filesOf(again)).toEqual(filesOf(dir));
      // The same folder knows both servers.
      expect(await t.sluice('plan', dir)).toMatchObject({ code: 1, err: expect.stringContaining('not by a token') });
    } finally {
      await other.stop();
    }
  });

  test('a record without a file stays, and goes with --prune', async () => {
    const dir = await pulled();
    rmSync(join(dir, 'tools/count_products.sql'));
    expect(await t.sluice('plan', dir)).toMatchObject({
      code: 0,
      out: expect.stringContaining('tool count_products has no file and stays'),
    });
    expect(await t.sluice('plan', dir, '--prune')).toMatchObject({
      code: 2,
      out: expect.stringContaining('- tool count_products  is deleted'),
    });
    expect(await t.sluice('push', dir)).toMatchObject({ code: 0 });
    expect(await toolOf('count_products')).toBeDefined();
    expect(await t.sluice('push', dir, '--prune')).toMatchObject({ code: 0 });
    expect(await toolOf('count_products')).toBeUndefined();
  });

  test('a connection can be renamed with everything that uses it, and is not deleted from under a tool', async () => {
    const dir = await pulled();
    renameSync(join(dir, 'connections/shop.yaml'), join(dir, 'connections/store.yaml'));
    const refused = await t.sluice('push', dir, '--prune');
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^(?:(?:tools\/products|resources\/product)\.sql:\d+: connection names the connection shop, which has no file and is deleted by --prune\. Name another one or delete this file too\.\n){2}$/,
      ),
    });
    for (const file of ['tools/products.sql', 'resources/product.sql'])
      edit(dir, file, (text) => text.replace('connection: shop', 'connection: store'));
    expect(await t.sluice('push', dir, '--prune')).toMatchObject({ code: 0, err: '' });
    expect(await t.sluice('plan', dir, '--prune')).toMatchObject({ code: 0, out: 'Nothing to change.\n' });
    const page = await t.s.call('connections.list', {});
    expect((page as { items: { name: string }[] }).items.map(({ name }) => name).toSorted()).toEqual(['Lager / Süd', 'store']);
    for (const file of ['tools/products.sql', 'resources/product.sql'])
      edit(dir, file, (text) => text.replace('connection: store', 'connection: shop'));
    renameSync(join(dir, 'connections/store.yaml'), join(dir, 'connections/shop.yaml'));
    expect(await t.sluice('push', dir, '--prune')).toMatchObject({ code: 0, err: '' });
  });

  test('a folder without connection files leaves the connections of the server alone, also with --prune', async () => {
    const dir = await pulled();
    rmSync(join(dir, 'connections'), { recursive: true });
    const out = `  connection Lager / Süd has no file and stays: no connection has one.\n  connection shop has no file and stays: no connection has one.\nNothing to change.\n`;
    expect(await t.sluice('plan', dir, '--prune')).toEqual({ code: 0, out, err: '' });
    edit(dir, 'tools/products.sql', (text) => text.replace('All products', 'Every product'));
    expect(await t.sluice('push', dir, '--prune')).toMatchObject({ code: 0, err: '' });
    const page = await t.s.call('connections.list', {});
    expect((page as { items: { name: string }[] }).items.map(({ name }) => name).toSorted()).toEqual(['Lager / Süd', 'shop']);
    edit(dir, 'tools/products.sql', (text) => text.replace('Every product', 'All products'));
    expect(await t.sluice('push', dir)).toMatchObject({ code: 0 });
  });

  test('settings that are open to tokens are imported; the others are refused at their line, storing nothing', async () => {
    const dir = await pulled();
    edit(dir, 'server.yaml', (text) =>
      text.replace('server_name: Sluice', 'server_name: Shop').replace('global_variables: {}', 'global_variables:\n  vat: 19'),
    );
    expect(await t.sluice('plan', dir)).toMatchObject({
      code: 2,
      out: expect.stringContaining('Server name: "Sluice" → "Shop"'),
    });
    expect(await t.sluice('push', dir)).toMatchObject({ code: 0 });
    const config = await t.s.call('config.get', {});
    expect(config).toMatchObject({ server_name: 'Shop', global_variables: { vat: { value: 19 } } });
    expect(await t.sluice('plan', dir)).toMatchObject({ code: 0 });
    edit(dir, 'server.yaml', (text) => text.replace('auth_type: none', 'auth_type: bearer'));
    edit(dir, 'tools/products.sql', (text) => text.replace('tags:', 'title: Changed\ntags:'));
    for (const command of ['plan', 'push']) {
      expect(await t.sluice(command, dir)).toMatchObject({
        code: 1,
        err: 'server.yaml:7: auth_type can be changed only by a signed-in administrator.\n',
      });
    }
    expect((await t.s.call('config.get', {})).auth_type).toBe('none');
    expect(await t.sluice('pull', dir, '--force')).toMatchObject({ code: 0 });
    // A file that names a few settings is about those alone.
    writeFileSync(join(dir, 'server.yaml'), '# Ours\nserver_name: Sluice\n');
    expect(await t.sluice('push', dir)).toMatchObject({ code: 0 });
    expect(await t.sluice('pull', dir)).toMatchObject({ code: 0 });
    expect(filesOf(dir)['server.yaml']).toBe('# Ours\nserver_name: Sluice\n');
  });

  test('what somebody changed meanwhile is not overwritten', async () => {
    const dir = await pulled();
    const tool = await toolOf('products');
    await t.s.send('tools.update', { id: tool?.id, description: 'Changed in the UI' });
    expect(await t.sluice('plan', dir)).toMatchObject({
      code: 1,
      err: expect.stringContaining('of this folder. Pull first, or'),
    });
    edit(dir, 'tools/products.sql', (text) => text.replace('tags:', 'title: Mine\ntags:'));
    const refused = {
      code: 1,
      err: expect.stringMatching(
        /^tools\/products\.sql: The tool products was changed on the server since .* The file has changes too: /m,
      ),
    };
    expect(await t.sluice('plan', dir)).toMatchObject(refused);
    expect(await t.sluice('push', dir)).toMatchObject(refused);
    expect(await toolOf('products')).toMatchObject({ description: 'Changed in the UI' });
    expect(await t.sluice('push', dir, '--force')).toMatchObject({ code: 0 });
    expect(await toolOf('products')).toMatchObject({ description: TOOL.description, title: 'Mine' });
  });

  test('an import that was made from an older state is refused whole', async () => {
    const input = {
      format: 'sluice/1',
      mode: 'overwrite',
      if_checksum: `sha256:${'0'.repeat(64)}`,
      prompts: [{ name: 'late', description: 'x', template: 'x' }],
    };
    const answer = await t.s.send('transfer.import', input);
    expect(answer).toMatchObject({ status: 409, body: { detail: expect.stringContaining('changed since it was read') } });
    expect((await t.s.call('prompts.list', { search: 'late' })).total).toBe(0);
    const unknown = await t.s.send('transfer.import', { format: 'sluice/1', deletes: { tools: ['nothing'] } });
    expect(unknown).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('There is no tool nothing to delete.') },
    });
  });
});
