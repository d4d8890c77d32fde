import { afterAll, beforeAll, expect, test } from 'bun:test';
import { edit, type Shop, shop } from './folder-support.ts';

let t: Shop;
let dir: string;
beforeAll(async () => {
  t = await shop();
  const page = await t.s.call('tools.list', { limit: 500 });
  const [tool] = (page as { items: { id: string; name: string }[] }).items;
  const owner = { kind: 'tool', id: tool?.id };
  const draft = { owner, name: 'has a pen', arguments: { name: 'Pen' }, expect: { contains: [{ name: 'Pen' }] } };
  expect((await t.s.send('tests.create', draft)).status).toBe(201);
  dir = t.folder();
  await t.sluice('pull', dir);
});
afterAll(() => t.stop());

const stored = async () => JSON.stringify(await t.s.call('transfer.export', {})).replace(/"exported_at":"[^"]*"/, '');
const results = async () => (await t.s.call('tests.list', {})).items;

test('plan says what lint and tests find in the folder as if it were stored, and stores nothing', async () => {
  const before = await stored();
  edit(dir, 'tools/products.sql', (text) => text.replace('select id, name, price', 'select *'));
  expect(await t.sluice('plan', dir)).toMatchObject({
    code: 2,
    out: expect.stringContaining('! Tool products: The statement selects every column.'),
    err: '',
  });
  expect((await t.sluice('plan', dir)).out).toEndWith('\nTests: 1 passed, 0 failed, 0 skipped.\n');
  edit(dir, 'tools/products.sql', (text) => text.replace('name like :name', 'name <> :name'));
  const failed = await t.sluice('plan', dir);
  expect(failed).toMatchObject({ code: 1, out: expect.stringContaining('Tests: 0 passed, 1 failed, 0 skipped.') });
  expect(failed.err).toBe('Tool products, test "has a pen": No row has {"name":"Pen"}.\nA deploy would be blocked by tests.\n');
  expect([await stored(), (await results()).map(({ last }) => last)]).toEqual([before, [null]]);
});

test('a test of the folder alone runs too, on a tool of the folder alone', async () => {
  const other = t.folder();
  await t.sluice('pull', other);
  edit(other, 'tools/products.sql', (text) => text);
  await Bun.write(
    `${other}/tools/pens.sql`,
    '---\nconnection: shop\nname: pens\ndescription: Every pen that the shop sells, in the order of its number.\nparameters:\n  - name: name\n    type: string\n    description: A name\n---\nselect id, name from products where name = :name order by id\n',
  );
  await Bun.write(
    `${other}/tests/two.yaml`,
    'name: two pens\nowner:\n  kind: tool\n  name: pens\narguments:\n  name: Pen\nexpect:\n  rows:\n    min: 2\n',
  );
  const { code, err } = await t.sluice('plan', other);
  expect([code, err]).toEqual([
    1,
    'Tool pens, test "two pens": The result has 1 row, fewer than 2.\nA deploy would be blocked by tests.\n',
  ]);
});

test('lint stops a plan where its gate blocks, and push deploys past it with a reason', async () => {
  const other = t.folder();
  await t.sluice('pull', other);
  await t.s.call('config.update', { deploy_gates: { lint: 'block' } });
  await t.sluice('pull', other);
  edit(other, 'tools/products.sql', (text) => text.replace('select id, name, price', 'select *'));
  expect(await t.sluice('plan', other)).toMatchObject({ code: 1, err: 'A deploy would be blocked by lint.\n' });
  const before = await stored();
  const blocked = await t.sluice('push', other, '--deploy');
  expect(blocked).toMatchObject({ code: 1, err: 'Nothing was stored: the deploy would be blocked by the gate lint.\n' });
  expect(await stored()).toBe(before);
  expect(await t.sluice('push', other, '--deploy', '--allow', 'lint', '--note', 'Wide on purpose')).toMatchObject({ code: 0 });
  const page = await t.s.call('history.list', { entity_type: 'snapshot' });
  expect(JSON.stringify(page)).toContain('Wide on purpose');
  expect((await t.sluice('push', other, '--deploy', '--allow', 'lynt')).code).toBe(64);
  expect((await t.sluice('push', other, '--allow', 'lint')).code).toBe(64);
  const tests = await t.sluice('push', other, '--deploy', '--allow', 'tests');
  expect(tests).toMatchObject({ code: 1, err: expect.stringContaining('Only a signed-in person') });
});

test('a push whose deploy a test would block stores nothing, and plan names what is not deployed', async () => {
  const other = t.folder();
  await t.s.call('config.update', { deploy_gates: { lint: 'warn' } });
  await t.sluice('pull', other);
  expect(await t.sluice('push', other, '--deploy')).toMatchObject({ code: 0 });
  expect(await t.sluice('plan', other)).toEqual({ code: 0, out: 'Nothing to change.\n', err: '' });
  const before = await stored();
  edit(other, 'tools/products.sql', (text) => text.replace('name like :name', 'name <> :name'));
  for (const options of [[], ['--allow', 'tests']]) {
    const refused = await t.sluice('push', other, '--deploy', ...options);
    expect([refused.code, refused.err]).toEqual([
      1,
      'Tool products, test "has a pen": No row has {"name":"Pen"}.\nNothing was stored: the deploy would be blocked by the gate tests.\n',
    ]);
  }
  expect(await stored()).toBe(before);
  expect(await t.sluice('push', other)).toMatchObject({ code: 0 });
  const undeployed = 'A change is stored on the server and not deployed. push --deploy deploys it too.\n';
  expect(await t.sluice('plan', other)).toEqual({ code: 2, out: `Nothing to change.\n${undeployed}`, err: '' });
  const refused = await t.sluice('push', other, '--deploy');
  expect(refused.err).toStartWith('The changes are stored on the server and not deployed:\nBlocked by the gate tests. ');
  edit(other, 'tools/products.sql', (text) => text.replace('name <> :name', 'name like :name'));
  expect(await t.sluice('plan', other)).toMatchObject({ code: 2, out: expect.stringContaining(undeployed) });
  expect(await t.sluice('push', other, '--deploy')).toMatchObject({ code: 0, err: '' });
});
