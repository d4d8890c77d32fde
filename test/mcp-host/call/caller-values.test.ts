import { beforeAll, expect, test } from 'bun:test';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { testCaller, type TestCaller } from '../callers.ts';
import { connection, modern, parameterOf, promptOf, resourceOf, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const { control, host } = useHost('all');
const from = (name: string, source: string, more: Partial<Parameter> = {}) =>
  parameterOf(name, 'string', { from: source, ...more });
const limited = 'select id, name from customers where name = :who and id > :above order by id';

let ada: TestCaller;
let grace: TestCaller;
let nobody: TestCaller;
let numbered: TestCaller;

const tools = [
  toolOf(connection, 'own', limited, {
    parameters: [from('who', 'caller.claims.customer'), parameterOf('above', 'integer', { required: false, default: 0 })],
  }),
  toolOf(connection, 'cached', 'select :who as who, random() as dice', {
    parameters: [from('who', 'caller.sub')],
    cache_ttl_seconds: 60,
  }),
  toolOf(connection, 'optional', 'select count(*) as n from customers where 1 = 1 [[ and name = :who ]]', {
    parameters: [from('who', 'caller.claims.customer')],
  }),
  toolOf(connection, 'of_groups', 'select name from customers where name in (:groups) order by id', {
    parameters: [parameterOf('groups', 'array', { items: 'string', from: 'caller.groups' })],
  }),
  toolOf(
    connection,
    'everything',
    'select :sub as sub, :name as name, :email as email, :token as token, :region as region, :at as at, :id as id',
    {
      parameters: [
        from('sub', 'caller.sub'),
        from('name', 'caller.name'),
        from('email', 'caller.email'),
        from('token', 'caller.token'),
        from('region', 'vars.region'),
        from('at', 'call.time', { type: 'datetime' }),
        from('id', 'call.id', { type: 'uuid' }),
      ],
    },
  ),
  toolOf(connection, 'level', 'select :level as level', {
    parameters: [from('level', 'caller.claims.level', { type: 'integer' })],
  }),
  toolOf(connection, 'nested', 'select :role as role', { parameters: [from('role', 'caller.claims.realm_access.role')] }),
  toolOf(connection, 'greeting', 'select 1 as one', {
    transform_template: '{{ caller.name }} ({{ caller.sub }}, {{ caller.groups | join(",") }}, {{ caller.claims.customer }})',
    cache_ttl_seconds: 60,
    return_type: 'text',
  }),
];
const resources = [
  resourceOf(connection, 'shop://own/{id}', 'select id, name from customers where id = :id and name = :who', {
    name: 'own',
    parameters: [parameterOf('id', 'integer'), from('who', 'caller.claims.customer')],
  }),
];
const prompts = [
  promptOf('hello', 'Hello {{ caller.name }}, {{ caller.claims.customer }} {{ topic }}', [{ name: 'topic', required: false }]),
];

beforeAll(async () => {
  [ada, grace, numbered, nobody] = await Promise.all([
    testCaller('ada', {
      sub: 'u-ada',
      name: 'Ada L.',
      email: 'ada@example.com',
      groups: ['Ada', 'Edsger'],
      customer: 'Ada',
      level: '7',
      realm_access: { role: 'boss' },
    }),
    testCaller('grace', { customer: 'Grace', groups: ['Grace'], level: 'high' }),
    testCaller('numbered', { level: '9007199254740991' }),
    testCaller('nobody', {}),
  ]);
  const server = { auth_type: 'bearer' as const, global_variables: { region: 'eu' } };
  await control.deploy(snapshotOf(1, { connections: [connection], tools, resources, prompts, server }));
  control.send('tokens', { tokens: [ada.live, grace.live, numbered.live, nobody.live] });
  await until(async () => (await host.health()).access_tokens.as_of !== null);
});

const callAs = async (caller: TestCaller, name: string, args: Record<string, unknown> = {}) =>
  (await modern(host.mcp, 'tools/call', { name, arguments: args }, caller.headers)).body.result ?? {};
const rows = async (caller: TestCaller, name: string, args: Record<string, unknown> = {}) =>
  ((await callAs(caller, name, args))['structuredContent'] as { rows: unknown[] }).rows;

test('a parameter of the caller binds what the credential says, each caller its own', async () => {
  expect(await rows(ada, 'own')).toEqual([{ id: 1, name: 'Ada' }]);
  expect(await rows(grace, 'own')).toEqual([{ id: 2, name: 'Grace' }]);
});

test('it stands in no list, and what a model sends under its name never binds', async () => {
  const listed = JSON.stringify((await modern(host.mcp, 'tools/list', {}, ada.headers)).body.result);
  expect(listed).not.toContain('who');
  expect(listed).not.toContain('caller.');
  expect(await rows(ada, 'own', { who: 'Grace' })).toEqual([{ id: 1, name: 'Ada' }]);
  for (const args of [{ who: 'Grace' }, { 'caller.claims.customer': 'Grace' }, { WHO: 'Grace' }]) {
    expect(await callAs(nobody, 'own', args)).toMatchObject({ isError: true });
  }
});

test('without the value a call is refused in words, before its database', async () => {
  expect(await callAs(nobody, 'own')).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('needs caller.claims.customer, which the caller does not have') }],
  });
  await until(() => control.usage.flatMap(({ items }) => items).some((item) => item.error === 'caller_value_missing'));
  expect(JSON.stringify(control.usage)).not.toContain('Grace');
});

test('in an optional block it is left out with the block', async () => {
  expect(await rows(ada, 'optional')).toEqual([{ n: 1 }]);
  expect(await rows(nobody, 'optional')).toEqual([{ n: 3 }]);
});

test('groups bind as a list; none is an empty list, not everything', async () => {
  expect(await rows(ada, 'of_groups')).toEqual([{ name: 'Ada' }, { name: 'Edsger' }]);
  expect(await rows(nobody, 'of_groups')).toEqual([]);
});

test('every source is read; a token without claims is called by its name', async () => {
  const before = Date.now();
  const [row] = (await rows(ada, 'everything')) as { at: string; id: string }[];
  expect(row).toMatchObject({ sub: 'u-ada', name: 'Ada L.', email: 'ada@example.com', token: 'ada', region: 'eu' });
  expect(Date.parse(row?.at ?? '')).toBeGreaterThanOrEqual(before - 1);
  expect(await rows(nobody, 'cached')).toMatchObject([{ who: 'token:nobody' }]);
});

test('the id of a call is its own, whatever its request is called', async () => {
  const headers = { ...ada.headers, 'x-request-id': 'the same' };
  const named = { ...ada.headers, 'x-request-id': crypto.randomUUID() };
  const ids = await Promise.all(
    [headers, headers, named, named].map(async (sent) => {
      const { body } = await modern(host.mcp, 'tools/call', { name: 'everything', arguments: {} }, sent);
      const result = body.result?.['structuredContent'] as { rows: { id: string }[] } | undefined;
      return result?.rows[0]?.id;
    }),
  );
  expect(new Set([...ids, named['x-request-id'], undefined]).size).toBe(6);
});

test('claims of another type are converted where that is safe, else refused without their value', async () => {
  expect(await rows(ada, 'level')).toEqual([{ level: 7 }]);
  const refused = await callAs(grace, 'level');
  expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('has another type') }] });
  expect(JSON.stringify(refused)).not.toContain('high');
  expect(await rows(numbered, 'level')).toEqual([{ level: 9_007_199_254_740_991 }]);
  expect(await rows(ada, 'nested')).toEqual([{ role: 'boss' }]);
});

test('results are kept for each value, and for each caller where a template reads the caller', async () => {
  const first = await rows(ada, 'cached');
  expect(await rows(ada, 'cached')).toEqual(first);
  expect(await rows(grace, 'cached')).toMatchObject([{ who: 'token:grace' }]);
  expect(await callAs(ada, 'greeting')).toMatchObject({ content: [{ text: 'Ada L. (u-ada, Ada,Edsger, Ada)' }] });
  expect(await callAs(grace, 'greeting')).toMatchObject({ content: [{ text: ' (token:grace, Grace, Grace)' }] });
});

test('resources and prompts read the caller as tools do', async () => {
  const read = async (caller: TestCaller, uri: string) =>
    (await modern(host.mcp, 'resources/read', { uri }, caller.headers)).body.result?.['contents'] as { text: string }[];
  expect(JSON.parse((await read(ada, 'shop://own/1'))[0]?.text ?? '')).toEqual([{ id: 1, name: 'Ada' }]);
  expect(JSON.parse((await read(grace, 'shop://own/1'))[0]?.text ?? '')).toEqual([]);
  const prompt = async (caller: TestCaller, args: object) =>
    (await modern(host.mcp, 'prompts/get', { name: 'hello', arguments: args }, caller.headers)).body.result?.['messages'];
  expect(await prompt(ada, { topic: 'x' })).toEqual([{ role: 'user', content: { type: 'text', text: 'Hello Ada L., Ada x' } }]);
  expect(await prompt(nobody, { caller: 'x' })).toEqual([{ role: 'user', content: { type: 'text', text: 'Hello ,  ' } }]);
});
