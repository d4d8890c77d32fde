import type { View } from '#core/contract/definitions/view.ts';
import { expect, test } from 'bun:test';
import { fc, seed } from '#test/support/chance.ts';
import {
  COMPILER,
  type Compiled,
  compiledKey,
  compileQuery,
  currentArtifact,
  describeCompiled,
} from '#snapshots/freeze/compile.ts';
import {
  type ConnectionDefinition,
  type ResourceDefinition,
  type ToolDefinition,
  resourceDefinition,
} from '#snapshots/freeze/entities.ts';
import { type Configuration, createFrozenState, freeze, MOST_TOOLS } from '#snapshots/freeze/freeze.ts';
import { toBlobs, toTree } from '#snapshots/format/tree.ts';

const times = { created_at: '2026-03-01T12:00:00.000Z', updated_at: '2026-03-01T12:00:00.000Z' };

const CONNECTION: ConnectionDefinition & Record<string, unknown> = {
  id: 'c1',
  name: 'shop',
  db_type: 'postgresql',
  host: 'db.example',
  port: 5432,
  database: 'shop',
  username: 'reader',
  password: { $sealed: 'v1.aaaaaaaa.fingerprint.ciphertext' },
  ssl_mode: null,
  ssl_ca: null,
  ssl_cert: null,
  ssl_key: null,
  extra_params: {},
  enabled: true,
  read_only: false,
  pool_size: 4,
  max_concurrency: null,
  queue_limit: 100,
  queue_timeout_ms: 5_000,
  query_timeout_ms: 30_000,
  max_rows: 1_000,
  max_bytes: 4_194_304,
  version: 1,
  ...times,
};

const STATEMENTS = [
  'select 1 as one',
  'select id from products where id = :id',
  'select id from products [[ where id in (:ids) ]]',
  'update products set name = :name where id = :id',
  'with a as (select :id::int as x) select x from a',
];
const PARAMETERS = [
  { name: 'id', type: 'integer' as const, description: '', required: true },
  { name: 'name', type: 'string' as const, description: 'A name', required: true, max_length: 10 },
  { name: 'ids', type: 'array' as const, items: 'integer' as const, description: '', required: false },
];

const tool = fc.record({
  name: fc.stringMatching(/^[a-z_]{1,12}$/),
  description: fc.string({ minLength: 1 }),
  title: fc.option(fc.string({ minLength: 1 })),
  sql_query: fc.constantFrom(...STATEMENTS),
  tags: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
  return_type: fc.constantFrom('rows' as const, 'row' as const, 'value' as const, 'csv' as const),
  transform_template: fc.constantFrom(null, '{{ rows | length }}'),
  enabled: fc.boolean(),
  read_only: fc.boolean(),
  timeout_ms: fc.option(fc.integer({ min: 1, max: 1_000 })),
  max_rows: fc.option(fc.integer({ min: 1, max: 1_000 })),
  cache_ttl_seconds: fc.integer({ min: 0, max: 10 }),
  rate_limit_per_minute: fc.option(fc.integer({ min: 1, max: 100_000 })),
  max_bytes: fc.option(fc.integer({ min: 1_024, max: 1_000_000 })),
  max_affected_rows: fc.option(fc.integer({ min: 1, max: 1_000 })),
  confirm: fc.constantFrom('never' as const, 'always' as const, 'above' as const),
  confirm_rows: fc.option(fc.integer({ min: 1, max: 1_000 })),
  two_step: fc.boolean(),
  view: fc.constantFrom<View | null>(null, { kind: 'table' }, { kind: 'bar', x: 'id', y: ['total'] }),
  ask_missing: fc.boolean(),
  log_arguments: fc.boolean(),
  max_tokens: fc.option(fc.integer({ min: 100, max: 1_000_000 })),
  max_plan_rows: fc.option(fc.integer({ min: 1, max: 1_000_000 })),
  max_plan_cost: fc.option(fc.integer({ min: 1, max: 1_000_000 })),
  plan_limit: fc.constantFrom('warn' as const, 'refuse' as const),
  text_format: fc.constantFrom('json' as const, 'markdown' as const, 'csv' as const, 'tsv' as const),
  files: fc.constantFrom(null, 'csv' as const, 'jsonl' as const, 'parquet' as const, 'xlsx' as const),
});

const tools = fc.uniqueArray(tool, { selector: ({ name }) => name, maxLength: 8 }).map((list) =>
  list.map((one, n): ToolDefinition => ({
    ...one,
    id: `t${n}`,
    connection_id: 'c1',
    parameters: PARAMETERS,
    masks: [],
    page_by: [],
    annotations: {},
    version: 1,
    ...times,
  })),
);

const resource: ResourceDefinition = {
  id: 'r1',
  connection_id: 'c1',
  name: 'product',
  title: null,
  description: 'One product',
  uri_template: 'shop://products/{id}',
  sql_query: 'select id from products where id = :id',
  parameters: PARAMETERS.slice(0, 1),
  tags: [],
  mime_type: 'application/json',
  transform_template: null,
  masks: [],
  enabled: true,
  version: 1,
  ...times,
};

function configuration(list: readonly ToolDefinition[], over: Partial<Configuration> = {}): Configuration {
  return {
    server: { server_name: 'Sluice', host: '127.0.0.1', port: 8080 } as unknown as Configuration['server'],
    connections: [CONNECTION],
    tools: list,
    resources: [resource],
    prompts: [],
    compiled: new Map(),
    allow_passthrough_sql: false,
    ...over,
  };
}

async function artifacts(list: readonly ToolDefinition[]): Promise<Map<string, Compiled>> {
  const stored = new Map<string, Compiled>([[resource.id, await compileQuery(resourceDefinition(resource), 'postgresql')]]);
  for (const one of list) stored.set(one.id, await compileQuery(one, 'postgresql'));
  // As it comes back from the store.
  return new Map(JSON.parse(JSON.stringify([...stored])) as [string, Compiled][]);
}

test('stored artifacts and nothing at all give the same tree, in whatever order rows and keys come', async () => {
  await fc.assert(
    fc.asyncProperty(tools, async (list) => {
      const fresh = await freeze(configuration(list));
      const compiled = await artifacts(list);
      const stored = await freeze(configuration(list, { compiled }));
      const turned = list
        .map((one) => Object.fromEntries(Object.entries(one).toReversed()) as unknown as ToolDefinition)
        .toReversed();
      const shuffled = await freeze(configuration(turned, { compiled }));
      for (const other of [stored, shuffled]) expect(other.tree.text).toBe(fresh.tree.text);
      expect(toTree(toBlobs(fresh.content)).checksum).toBe(fresh.tree.checksum);
    }),
    { numRuns: 100 },
  );
});

const limits = fc.record({ enabled: fc.boolean(), max_rows: fc.integer({ min: 1, max: 9 }) });

test('a state that is changed step by step is frozen as the configuration that it became', async () => {
  const compiled = await artifacts([]);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(tools, limits), { minLength: 1, maxLength: 8 }), async (steps) => {
      const state = createFrozenState(false);
      const first = configuration([]);
      state.putServer(first.server);
      let [row, list]: [typeof CONNECTION, readonly ToolDefinition[]] = [CONNECTION, []];
      const put = async () => {
        for (const one of list) await state.put('tool', one, undefined);
        await state.put('resource', resource, compiled.get(resource.id));
      };
      state.putConnection(row);
      await put();
      for (const step of steps) {
        if (Array.isArray(step)) {
          for (const { id } of list) if (!step.some((one) => one.id === id)) state.remove(id);
          list = step;
        } else state.putConnection((row = { ...row, ...step }));
        await put();
        const view = state.view().frozen();
        const whole = await freeze(configuration(list, { connections: [row], compiled }));
        expect(view).toEqual({ tree: whole.tree, problems: whole.problems, warnings: view.warnings });
        expect(view.warnings.toSorted()).toEqual(whole.warnings.toSorted());
        // Texts of what is stored are forgotten, others stay.
        state.forget(steps.length % 2 === 0 ? view.tree.leaves : []);
        const missing = whole.tree.leaves.filter(({ hash }) => state.view().textOf(hash) === undefined);
        if (steps.length % 2 === 1) expect(missing).toEqual([]);
      }
    }),
    { numRuns: 60 },
  );
});

test('an artifact of an older compiler is rebuilt from the old description, unless its definition changed', async () => {
  const definition = {
    sql_query: 'select :a as name',
    parameters: [{ name: 'a', type: 'string' as const, description: '', required: true }],
    return_type: 'rows' as const,
    transform_template: null,
  };
  const columns = [{ name: 'name', type: 'text', kind: 'string' as const }];
  const made = describeCompiled(await compileQuery(definition, 'postgresql'), definition, {
    columns,
    reads: [undefined, { as: 'text' }],
  });
  const older = { ...made, key: compiledKey(definition, 'postgresql', COMPILER - 1), output_schema: {} };
  expect(await currentArtifact(made, definition, 'postgresql')).toBe(made);
  expect(await currentArtifact(older, definition, 'postgresql')).toEqual(made);
  expect((await currentArtifact(older, definition, 'timescaledb')).columns).toBeNull();
  expect((await currentArtifact(older, { ...definition, return_type: 'row' }, 'postgresql')).columns).toBeNull();
});

test('a tool of a disabled connection is left out, a writing one on a read-only connection is a problem', async () => {
  const [one] =
    fc.sample(
      tools.filter((list) => list.length > 0),
      1,
    )[0] ?? [];
  if (one === undefined) throw new Error('no sample');
  const enabled = { ...one, enabled: true };
  const disabled = await freeze(configuration([enabled], { connections: [{ ...CONNECTION, enabled: false }], resources: [] }));
  expect(disabled).toMatchObject({ problems: [], content: { tools: [], connections: [] } });
  expect(disabled.warnings).toHaveLength(1);
  const writing = { ...enabled, sql_query: STATEMENTS[3] ?? '', read_only: false };
  const refused = await freeze(configuration([writing], { connections: [{ ...CONNECTION, read_only: true }] }));
  expect(refused.problems).toMatchObject([{ entity_type: 'tool', name: one.name }]);
});

test('a limit or question on what a rollback does not undo is a problem of the deploy', async () => {
  const [one] =
    fc.sample(
      tools.filter((list) => list.length > 0),
      1,
    )[0] ?? [];
  if (one === undefined) throw new Error('no sample');
  const sql_query = 'select pg_terminate_backend(pid) from pg_stat_activity';
  const writing = { ...one, sql_query, parameters: [], enabled: true, read_only: false, page_by: [], transform_template: null };
  const frozen = async (guard: object) =>
    (await freeze(configuration([{ ...writing, confirm: 'never', max_affected_rows: null, ...guard }]))).problems;
  expect(await frozen({})).toEqual([]);
  for (const guard of [{ confirm: 'always' as const }, { max_affected_rows: 3 }])
    expect(await frozen(guard)).toMatchObject([{ name: one.name, message: expect.stringContaining('does not undo') as string }]);
});

test('a statement runs in the cheap session only when it reads and holds nothing but closed built-ins', async () => {
  const base = fc.sample(
    tools.filter((list) => list.length > 0),
    1,
  )[0]?.[0];
  if (base === undefined) throw new Error('no sample');
  const modeOf = async (sql_query: string, read_only: boolean) => {
    const frozen = await freeze(configuration([{ ...base, enabled: true, sql_query, read_only }]));
    return frozen.content.tools[0]?.mode;
  };
  expect(await modeOf('select id, upper(name) from products', true)).toBe('fixed');
  expect(await modeOf('select my_function(id) from products', true)).toBe('read');
  expect(await modeOf('select id from products', false)).toBe('write');
  expect(await modeOf("select set_config('default_transaction_read_only', 'off', false)", true)).not.toBe('fixed');
});

test('a snapshot holds at most 10 000 enabled tools; more are one problem that says how many there are', async () => {
  const [one] = fc.sample(tools, { numRuns: 20, seed }).find((list) => list.length > 0) ?? [];
  const many = (count: number, enabled = true) =>
    Array.from({ length: count }, (_, n) => ({ ...(one as ToolDefinition), id: `t${n}`, name: `tool_${n}`, enabled }));
  const { problems, content } = await freeze(configuration(many(MOST_TOOLS + 1)));
  expect(problems).toMatchObject([{ entity_type: 'server_config', message: expect.stringContaining('10001 tools') }]);
  expect(content.tools).toEqual([]);
  expect((await freeze(configuration(many(MOST_TOOLS + 1, false)))).problems).toEqual([]);
});
