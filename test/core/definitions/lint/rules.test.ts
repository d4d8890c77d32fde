import { describe, expect, test } from 'bun:test';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { LINT_RULES, type LintRule } from '#core/contract/settings/lint-rules.ts';
import { type Facts, factsOf, stemOf } from '#core/definitions/lint/facts.ts';
import { createDefinitionSet } from '#core/definitions/lint/definition-set.ts';
import { ofPromptDraft, ofToolDraft, type Subject } from '#core/definitions/lint/subject.ts';

const DESCRIPTION = 'Orders of one customer, newest first, with totals in euros.';
type Tool = Parameters<typeof ofToolDraft>[0];
type Columns = NonNullable<Parameters<typeof ofToolDraft>[1]['columns']>;

const column = (name: string, kind: Columns[number]['kind'] = 'string') => ({ name, type: 'text', kind });
const parameter = (more: Partial<Parameter>): Parameter => ({
  name: 'id',
  type: 'integer',
  description: 'Number of the customer',
  required: true,
  examples: [7],
  ...more,
});
const tool = (more: Partial<Tool> = {}, columns: Columns | null = null, dialect: 'sqlite' | 'postgresql' = 'sqlite'): Subject =>
  ofToolDraft(
    {
      id: 'a',
      name: 'find_orders',
      title: null,
      description: DESCRIPTION,
      sql_query: 'select id from orders where customer_id = :id order by id',
      parameters: [parameter({})],
      transform_template: null,
      return_type: 'rows',
      read_only: true,
      ...more,
    },
    { statement: { dialect }, columns },
  );
const lintAlone = (subject: Subject) => createDefinitionSet().lintSubject(subject, [], null);
const found = (subject: Subject) => lintAlone(subject).map(({ rule, field }) => `${rule} ${field}`);
const sql = (text: string, parameters: Parameter[] = [], columns: Columns | null = null) =>
  lintAlone(tool({ sql_query: text, parameters }, columns));
const rulesOf = (text: string, parameters: Parameter[] = []) => sql(text, parameters).map(({ rule }) => rule);
/** The statement after its one fix. */
const fixed = (text: string, parameters: Parameter[] = [], columns: Columns | null = null) =>
  sql(text, parameters, columns).map(({ fix }) => fix?.changes['sql_query'] ?? null);

test('a sound tool has no findings', () => {
  expect(lintAlone(tool())).toEqual([]);
});

describe('descriptions and parameters', () => {
  const cases: readonly (readonly [Partial<Tool>, readonly string[]])[] = [
    [{ description: '  ' }, ['description-missing description']],
    [{ description: 'Find orders.' }, ['description-missing description']],
    [{ title: 'All the orders', description: 'all the orders' }, ['description-missing description']],
    [{ description: 'Lists orders.' }, ['description-short description']],
    [{ description: '顧客の注文を新しい順に返します。' }, []],
    [{ parameters: [parameter({ description: ' ' })] }, ['parameter-description parameters.0.description']],
    [
      { parameters: [{ name: 'id', type: 'integer', description: 'x', required: true }] },
      ['parameter-examples parameters.0.examples'],
    ],
    [{ parameters: [{ name: 'id', type: 'string', description: 'x', required: true, enum: ['a'] }] }, []],
    [{ parameters: [{ name: 'id', type: 'date', description: 'x', required: true }] }, []],
    [{ parameters: [{ name: 'id', type: 'array', items: 'uuid', description: 'x', required: true }] }, []],
    [{ parameters: [{ name: 'id', type: 'string', description: '', required: true, from: 'caller.sub' }] }, []],
  ];
  for (const [more, expected] of cases) test(JSON.stringify(more), () => expect(found(tool(more))).toEqual([...expected]));

  test('a default can stand as an example', () => {
    const parameters = [parameter({}), { ...parameter({ name: 'most', required: false, default: 10 }), examples: undefined }];
    const [finding] = lintAlone(tool({ parameters }));
    expect(finding?.fix?.changes).toEqual({ parameters: [parameters[0], { ...parameters[1], examples: [10] }] });
  });

  test.each<[string | readonly string[]]>([[''], [[]]])('an empty default (%j) cannot: it shows no form', (empty) => {
    const type = Array.isArray(empty) ? ('array' as const) : ('string' as const);
    const parameters = [{ ...parameter({ type, required: false, default: empty }), examples: undefined }];
    const [finding] = lintAlone(tool({ parameters }));
    expect([finding?.rule, finding?.fix]).toEqual(['parameter-examples', undefined]);
  });

  test('arguments of prompts are described too', () => {
    const prompt = ofPromptDraft({
      id: 'p',
      name: 'greet',
      title: null,
      description: 'Greets somebody by name.',
      template: 'Hello {{ who }}',
      messages: null,
      arguments: [{ name: 'who', description: '', required: true }],
    });
    expect(found(prompt)).toEqual(['parameter-description arguments.0.description']);
  });
});

describe('statements', () => {
  test('a star in the result is found, and no other', () => {
    for (const text of ['select * from t order by 1', 'select distinct * from t limit 1', 'select a, t.* from t limit 1']) {
      expect([text, ...rulesOf(text)]).toEqual([text, 'select-star']);
    }
    for (const text of [
      'select count(*) from t',
      'select a * b from t limit 1',
      'select a from t where exists (select * from u) limit 1',
      'with w as (select * from t) select a from w limit 1',
      "select '*' from t limit 1",
      'delete from t',
    ]) {
      expect([text, ...rulesOf(text)]).toEqual([text]);
    }
  });

  test('the fix of a star names the columns that the database described, where that is the same', () => {
    const columns = [column('id', 'integer'), column('name')];
    expect(fixed('SELECT * FROM t /* * */ LIMIT 5;', [], columns)).toEqual(['SELECT id, name FROM t /* * */ LIMIT 5;']);
    expect(fixed('select * from t limit 5')).toEqual([null]);
    expect(fixed('select t.* from t limit 5', [], columns)).toEqual([null]);
    expect(fixed('select * from t limit 5', [], [column('id'), column('id')])).toEqual([null]);
    expect(fixed('select * from t limit 5', [], [column('Order No')])).toEqual([null]);
    expect(fixed('select * from t limit 5', [], [column('order')])).toEqual([null]);
    expect(fixed('select * from t union select * from u limit 5', [], columns)).toEqual([null]);
  });

  test('rows without limit and order are found where they can be many', () => {
    expect(rulesOf('select a from t')).toEqual(['unbounded-rows']);
    expect(rulesOf('select a from t where b > 1 -- limit 5')).toEqual(['unbounded-rows']);
    expect(rulesOf('select a, count(*) from t group by a')).toEqual(['unbounded-rows']);
    expect(rulesOf('select sum(a) over () from t')).toEqual(['unbounded-rows']);
    for (const text of [
      'select a from t limit 5',
      'select a from t order by a',
      'select sum(a) from t',
      'select 1',
      'select a from t where id = 5',
      'select a from t where t.id = 5',
      'select a from t fetch first 5 rows only',
    ]) {
      expect([text, ...rulesOf(text)]).toEqual([text]);
    }
    expect(found(tool({ return_type: 'value', sql_query: 'select a from t', parameters: [] }))).toEqual([]);
    expect(fixed('select a from t where b = 1; -- all', [], [column('a')])).toEqual([
      'select a from t where b = 1\norder by 1\nlimit 100; -- all',
    ]);
    expect(fixed('select a from t', [], [column('a', 'json')])).toEqual([null]);
  });

  test('an optional value compared with = outside a block is found', () => {
    const optional = [parameter({ required: false })];
    const tail = 'order by a';
    const cases: readonly (readonly [before: string, after: string | null])[] = [
      [`select a from t where b = :id ${tail}`, `select a from t where 1 = 1 [[and b = :id]] ${tail}`],
      [`select a from t where t.b = :id ${tail}`, `select a from t where 1 = 1 [[and t.b = :id]] ${tail}`],
      [
        `select a from t where c > 1 and b = :id and d = 2 ${tail}`,
        `select a from t where c > 1 [[and b = :id]] and d = 2 ${tail}`,
      ],
      [`select a from t where b = :id or c ${tail}`, null],
      [`select a from t where c or b = :id ${tail}`, null],
      [`select a from t where b = :id + 1 ${tail}`, null],
      [`select a from t where :id = b ${tail}`, null],
      [`select a from t where c between 1 and b = :id ${tail}`, null],
    ];
    for (const [before, after] of cases) {
      expect([before, ...rulesOf(before, optional)]).toEqual([before, 'optional-equals']);
      expect(fixed(before, optional)).toEqual([after]);
      if (after !== null) expect(rulesOf(after, optional)).toEqual([]);
    }
    for (const text of [
      `select a from t where c > 1 [[and b = :id]] ${tail}`,
      `select a from t where (:id is null or b = :id) ${tail}`,
      `select a from t where b > :id ${tail}`,
    ]) {
      expect([text, ...rulesOf(text, optional)]).toEqual([text]);
    }
    const equal = `select a from t where b = :id ${tail}`;
    expect(rulesOf(equal, [parameter({ required: true })])).toEqual([]);
    expect(rulesOf(equal, [parameter({ required: false, default: 1 })])).toEqual([]);
  });

  test('a parameter as the whole of an ORDER BY sorts nothing: enum and CASE are named', () => {
    for (const order of [
      ':id',
      ':ID desc nulls last',
      'a, :id asc, b',
      'a desc, (:id)',
      ':id limit 10 offset 5',
      'cast(:id as text) desc',
      'a [[, :id]]',
      ':id collate nocase',
    ]) {
      expect([order, ...rulesOf(`select a from t order by ${order}`, [parameter({})])]).toEqual([order, 'order-by-value']);
    }
    const cast = tool({ sql_query: 'select a from t order by :id::text desc' }, null, 'postgresql');
    expect(found(cast)).toEqual(['order-by-value sql_query']);
    const windows = ['row_number() over (partition by b order by :id)', 'string_agg(a, :id order by :id)'];
    for (const list of windows)
      expect(rulesOf(`select ${list} as n from t order by a`, [parameter({})])).toEqual(['order-by-value']);
    for (const order of [
      "case :id when 'a' then a end",
      'abs(a - :id)',
      'a + :id',
      ':id - a',
      'a = :id desc',
      'coalesce(a, :id)',
      'a limit :id',
      'a [[ limit :id ]]',
    ]) {
      expect([order, ...rulesOf(`select a from t order by ${order}`, [parameter({})])]).toEqual([order]);
    }
    const [finding] = sql('select a from t order by :id, :id', [parameter({})]);
    expect(finding?.message).toMatch(/^order by :id sorts nothing.+ enum .+ order by case :id when /);
    expect(finding?.fix).toBeUndefined();
  });
});

test('secrets are found wherever people write, and never repeated', () => {
  const key = `AKIA${'Q7'.repeat(8)}`;
  const places: readonly (readonly [Partial<Tool>, string])[] = [
    [{ description: `Orders. Use the key ${key} for it.` }, 'description'],
    [{ sql_query: `select id from orders where k = '${key}' order by id`, parameters: [] }, 'sql_query'],
    [{ transform_template: `{{ "${key}" }}` }, 'transform_template'],
    [{ parameters: [parameter({ description: `Such as ${key}` })] }, 'parameters.0'],
    [{ parameters: [parameter({ type: 'string', examples: [key] })] }, 'parameters.0'],
  ];
  for (const [more, field] of places) {
    const findings = lintAlone(tool(more));
    expect(findings.map((one) => [one.rule, one.severity, one.field])).toEqual([['secret-text', 'error', field]]);
    expect(JSON.stringify(findings)).not.toContain(key);
  }
  const secrets = [
    '-----BEGIN RSA PRIVATE KEY-----',
    `ghp_${'a1B2'.repeat(9)}`,
    `sk-ant-${'a1B2'.repeat(6)}`,
    'xoxb-123456789012-abcdef',
    `svc_mcp_${'a1'.repeat(20)}`,
    `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.sig`,
    'postgres://app:hunter2@db.example.com/shop',
    "password = 'hunter2hunter2'",
    'api_key: 9f8e7d6c5b4a',
  ];
  for (const text of secrets)
    expect([text, ...found(tool({ description: `${DESCRIPTION} ${text}` }))]).toEqual([text, 'secret-text description']);
  for (const text of [
    'where password = :password1',
    'The password is stored hashed.',
    'See https://example.com:8080/docs',
    'postgres://db.example.com:5432/shop',
    'pwd::text2 is not null',
    'secret_id = 5',
  ]) {
    expect([text, ...found(tool({ description: `${DESCRIPTION} ${text}` }))]).toEqual([text]);
  }
});

test('names of one stem are told from others', () => {
  for (const name of [
    'get_orders',
    'getOrder',
    'orders_get',
    'get_order_copy',
    'get_order_copy_2',
    'get-order-v2',
    'GET_ORDERS_old',
  ]) {
    expect([name, stemOf(name)]).toEqual([name, 'get_order']);
  }
  expect(stemOf('categories')).toBe(stemOf('category'));
  for (const name of ['find_order', 'get_order_items', 'get_order_2024', 'status', 'address']) {
    expect(stemOf(name)).not.toBe('get_order');
  }
  expect(stemOf('status')).toBe('status');
  expect(stemOf('copy')).toBe('copy');
});

/** What a tool is frozen to, as far as the rules read it. */
const frozen = (id: string, name: string, description: string, size = 0) =>
  factsOf('tool', {
    id,
    name,
    connection_id: 'c',
    tags: ['all'],
    mode: 'read',
    return_type: 'row',
    parameters: [],
    transform_template: null,
    statement: { dialect: 'sqlite', nodes: ['select 1'], names: [], types: {} },
    listing: { name, description, inputSchema: { type: 'object', filler: 'word '.repeat(size) } },
  });
async function together(...all: Facts[]) {
  const made = createDefinitionSet();
  await made.move([], all);
  return made;
}
const lintAll = async (all: Facts[], off: readonly LintRule[]) => (await together(...all)).lintSome(all, off);
const summary = (findings: Awaited<ReturnType<typeof lintAll>>) => findings.map(({ rule, entity }) => `${rule} ${entity.name}`);

test('definitions are compared with each other', async () => {
  const all = [
    frozen('1', 'find_orders', DESCRIPTION),
    frozen('2', 'search_orders', DESCRIPTION.replace('newest', 'latest')),
    frozen('3', 'list_customers', 'Customers of a region with their managers.'),
    frozen('4', 'list_customer', 'Everything known of a single person, by number.'),
  ];
  expect(summary(await lintAll(all, [])).toSorted()).toEqual([
    'description-similar find_orders',
    'description-similar search_orders',
    'similar-names list_customer',
    'similar-names list_customers',
  ]);
  expect(summary(await lintAll(all, ['description-similar', 'similar-names']))).toEqual([]);
  const draft = tool({ id: '9', name: 'find_order', description: DESCRIPTION });
  expect((await together(...all)).lintSubject(draft, [], null).map(({ message }) => message)).toEqual([
    'The description is 100% the same as that of find_orders. Say when to use which.',
    'The name differs little from find_orders. Models confuse such tools; name the difference.',
  ]);
  // It replaces the stored one.
  expect((await together(...all.slice(0, 1))).lintSubject({ ...draft, id: '1' }, [], null)).toEqual([]);
});

const OFF = ['description-similar'] as const;

test('a toolset that takes too much of a conversation is found', async () => {
  const toolset = (tags: string[], more: object = {}) =>
    factsOf('toolset', {
      id: 't',
      name: 'sales',
      title: null,
      description: '',
      instructions: null,
      include: { tags, connection_ids: [], tool_ids: [], resource_ids: [], prompt_ids: [] },
      exclude: { tags: [], connection_ids: [], tool_ids: [], resource_ids: [], prompt_ids: [] },
      read_only: false,
      groups: [],
      ...more,
    });
  const big = [1, 2, 3].map((n) => frozen(String(n), `t${n}x`, `${'number '.repeat(n * 3)} of something else ${n}`, 2_700));
  expect(summary(await lintAll([...big.slice(1), toolset(['all'])], OFF))).toEqual([]);
  expect(summary(await lintAll([...big, toolset(['all'])], OFF))).toEqual(['toolset-tokens sales']);
  expect(summary(await lintAll([...big, toolset(['none'])], OFF))).toEqual([]);
  // Its own budget counts instead of the default one.
  expect(summary(await lintAll([...big, toolset(['all'], { token_budget: 9_000 })], OFF))).toEqual([]);
  expect(summary(await lintAll([...big.slice(2), toolset(['all'], { token_budget: 2_000 })], OFF))).toEqual([
    'toolset-tokens sales',
  ]);
});

test('every rule says what it is about, and stands in the guide', async () => {
  const readme = await Bun.file(new URL('../../../../docs/deploys.md', import.meta.url)).text();
  for (const [rule, { label, help, severity }] of Object.entries(LINT_RULES)) {
    expect(`${label}: ${help}`).toMatch(/^[A-Z].+: .+\.$/);
    expect(readme).toContain(`| \`${rule}\` | ${severity} |`);
  }
});
