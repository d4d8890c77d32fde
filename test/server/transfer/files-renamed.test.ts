import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { edit, type Shop, shop, TOOL } from './folder-support.ts';

let t: Shop;
beforeAll(async () => {
  t = await shop();
  const checks = (name: string, kind: string, owner: string) => ({
    name,
    owner: { kind, name: owner },
    expect: { max_ms: 60_000 },
  });
  const seeded = await t.s.send('transfer.import', {
    format: 'sluice/1',
    tools: [{ ...TOOL, name: 'spare' }],
    tests: [
      checks('products answer', 'tool', 'products'),
      { ...checks('one product', 'resource', 'product'), arguments: { id: 1 } },
      checks('spare answers', 'tool', 'spare'),
    ],
  });
  expect(seeded.status).toBe(200);
});
afterAll(() => t.stop());

const exported = async () => await t.s.call('transfer.export', {});

describe('a folder in which definitions were renamed', () => {
  test('is planned and pushed with their tests and addresses', async () => {
    const dir = t.folder();
    expect(await t.sluice('pull', dir)).toMatchObject({ code: 0 });
    renameSync(join(dir, 'tools/products.sql'), join(dir, 'tools/catalogue.sql'));
    edit(dir, 'tests/products answer.yaml', (text) => text.replace('name: products', 'name: catalogue'));
    renameSync(join(dir, 'resources/product.sql'), join(dir, 'resources/item.sql'));
    edit(dir, 'tests/one product.yaml', (text) => text.replace('name: product', 'name: item'));
    const planned = await t.sluice('plan', dir, '--prune');
    expect([planned.code, planned.err]).toEqual([2, '']);
    expect(planned.out).toContain('+ tools/catalogue.sql');
    expect(planned.out).toContain('- tool products  is deleted on the server');
    expect(await t.sluice('push', dir, '--prune')).toMatchObject({ code: 0, err: '' });
    expect(await t.sluice('plan', dir, '--prune')).toEqual({ code: 0, out: 'Nothing to change.\n', err: '' });
    const { tests, resources } = await exported();
    expect(resources).toMatchObject([{ name: 'item', uri_template: 'shop://products/{id}' }]);
    expect(tests).toMatchObject([
      { name: 'one product', owner: { kind: 'resource', name: 'item' } },
      { name: 'products answer', owner: { kind: 'tool', name: 'catalogue' } },
      { name: 'spare answers' },
    ]);
  });

  test('exchanges the addresses of resources', async () => {
    const dir = t.folder();
    expect(await t.sluice('pull', dir)).toMatchObject({ code: 0 });
    const resource = (uri_template: string) =>
      `---\nconnection: shop\ndescription: All products\nuri_template: ${uri_template}\n---\nselect id from products\n`;
    const write = (a: string, b: string) => {
      writeFileSync(join(dir, 'resources/a.sql'), resource(a));
      writeFileSync(join(dir, 'resources/b.sql'), resource(b));
    };
    write('shop://a', 'shop://b');
    expect(await t.sluice('push', dir)).toMatchObject({ code: 0, err: '' });
    write('shop://b', 'shop://a');
    expect(await t.sluice('plan', dir)).toMatchObject({ code: 2, err: '' });
    expect(await t.sluice('push', dir)).toMatchObject({ code: 0, err: '' });
    expect((await exported()).resources).toMatchObject([
      { name: 'a', uri_template: 'shop://b' },
      { name: 'b', uri_template: 'shop://a' },
      { name: 'item' },
    ]);
  });
});

test('a test whose definition has no file is refused at its line before it is deleted with it', async () => {
  const dir = t.folder();
  expect(await t.sluice('pull', dir)).toMatchObject({ code: 0 });
  rmSync(join(dir, 'tools/spare.sql'));
  for (const [command, ...options] of [['plan'], ['push'], ['push', '--force']] as const) {
    const refused = await t.sluice(command, dir, '--prune', ...options);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(
        /^tests\/spare answers\.yaml:\d+: owner\.name names the tool spare, which has no file and is deleted by --prune\. Name another one or delete this file too\.\n$/,
      ),
    ]);
  }
  expect((await exported()).tests).toHaveLength(3);
  expect(await t.sluice('plan', dir)).toMatchObject({ code: 0 });
  rmSync(join(dir, 'tests/spare answers.yaml'));
  expect(await t.sluice('push', dir, '--prune')).toMatchObject({ code: 0, err: '' });
  expect((await exported()).tests).toHaveLength(2);
});
