import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { agentTools } from '#agent/tools/tools.ts';
import { CONFIGURE } from '#agent/tools/texts-configure.ts';
import { OPERATE } from '#agent/tools/texts-operate.ts';
import { TESTS } from '#agent/tools/texts-tests.ts';
import { NO_CALLER, transformScope } from '#core/query/values.ts';
import { type EntityType, OF_DEFINITIONS } from '#core/contract/history.ts';
import { ENTITIES } from '#core/contract/entities.ts';
import { operations } from '#core/contract/index.ts';
import { marked } from '#core/contract/marks.ts';
import type { Operation } from '#core/contract/operation.ts';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import { ADDED_TOOLS, SPECIFIED_TOOLS } from '#test/support/agent-tools.ts';
import type { McpClient } from '#test/support/mcp-clients.ts';

/** Arguments that contract section 12 and specification 4.4 name. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  list_connections: ['skip', 'limit', 'search'],
  get_connection: ['connection_id'],
  update_connection: ['connection_id', 'version'],
  delete_connection: ['connection_id', 'dry_run'],
  test_connection: ['connection_id'],
  list_tables: ['connection_id'],
  list_columns: ['connection_id', 'table'],
  list_tools: ['skip', 'limit', 'search', 'compact', 'fields'],
  get_tool: ['tool_id'],
  create_tools_batch: ['tools', 'atomic'],
  update_tool: ['tool_id', 'version', 'connection_id'],
  duplicate_tool: ['tool_id'],
  preview_sql: ['connection_id', 'sql_query', 'parameters', 'transform_template', 'limit'],
  update_resource: ['resource_id', 'version'],
  update_prompt: ['prompt_id', 'version'],
  deploy_server: ['note', 'dry_run'],
  import_config: ['data', 'dry_run'],
  rollback: ['history_id', 'dry_run'],
  get_metrics_timeseries: ['period', 'tool'],
  set_global_variables: ['variables'],
  update_global_variables: ['set', 'delete'],
};
const OUTPUTS: Readonly<Record<string, readonly string[]>> = {
  list_tables: ['tables', 'total'],
  list_columns: ['columns', 'total'],
  list_tools: ['items', 'total'],
  create_tools_batch: ['created', 'errors', 'total_created', 'total_errors'],
  delete_tool: ['deleted', 'id'],
  test_connection: ['success', 'message', 'latency_ms'],
  preview_sql: ['rows', 'columns', 'row_count', 'execution_time', 'transformed_result', 'transform_error'],
  get_flow_layout: ['connections', 'tools', 'resources', 'prompts', 'edges', 'server', 'totals', 'pending_changes'],
};

const tools = agentTools();
const fieldsOf = (schema: Readonly<Record<string, unknown>>) => Object.keys(schema['properties'] as object);
/** The tool whose answer stands for this one's. */
function saidBy(name: string): string {
  const description = tools.get(name)?.listing.outputSchema['description'];
  return /Fields as (\w+) gives them$/.exec(typeof description === 'string' ? description : '')?.[1] ?? name;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Schemas without a keyword or with a list of types: what strict clients take for a mistake. */
function vague(schema: Readonly<Record<string, unknown>>, path: string): string[] {
  const keywords = Object.keys(schema).filter((keyword) => !['description', 'default', 'title'].includes(keyword));
  const own = (keywords.length === 0 && !path.endsWith('.array')) || Array.isArray(schema['type']) ? [path] : [];
  const of_array = schema['type'] === 'array' ? 'array' : 'items';
  const inner = [
    [of_array, schema['items']],
    ['additionalProperties', schema['additionalProperties']],
  ] as const;
  const listed = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => Object.entries(schema[keyword] ?? {}));
  const all = [...inner, ...listed, ...Object.entries(schema['properties'] ?? {})];
  return [...own, ...all.flatMap(([key, item]) => (isObject(item) ? vague(item, `${path}.${key}`) : []))];
}

/** Lists that say nothing of their elements, which VS Code refuses among arguments. */
const openLists = (schema: unknown): unknown[] => {
  if (!isObject(schema)) return Array.isArray(schema) ? schema.flatMap(openLists) : [];
  const own = schema['type'] === 'array' && schema['items'] === undefined ? [schema] : [];
  return [...own, ...Object.values(schema).flatMap(openLists)];
};

test('the tools are the 45 specified ones and those of toolsets, and each text and operation has one', () => {
  expect(SPECIFIED_TOOLS).toHaveLength(45 + ADDED_TOOLS.length);
  expect([...tools.keys()].toSorted()).toEqual(SPECIFIED_TOOLS.toSorted());
  expect([...Object.keys(CONFIGURE), ...Object.keys(TESTS), ...Object.keys(OPERATE)].toSorted()).toEqual(
    SPECIFIED_TOOLS.toSorted(),
  );
  const named = (Object.values(operations) as Operation[]).flatMap(({ agent }) => agent ?? []);
  expect(named.toSorted()).toEqual(SPECIFIED_TOOLS.toSorted());
});

test('the list of them is short enough for a model to read, and says nothing twice', () => {
  const listings = [...tools.values()].map(({ listing }) => listing);
  expect(JSON.stringify(listings).length / listings.length).toBeLessThan(2_495);
  const text = JSON.stringify(listings.map(({ outputSchema }) => outputSchema));
  const named = [...text.matchAll(/Fields as (\w+) gives them/g)].map(([, tool]) => tool ?? '');
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((tool) => saidBy(tool) !== tool || !tools.has(tool))).toEqual([]);
  // A reader keeps to no limit.
  expect(text.match(/"(?:minLength|maxLength|minItems|maxItems)":|"(?:minimum|maximum|pattern)":["\d]/g)).toBeNull();
});

describe.each([...tools])('%s', (name, { listing, operation }) => {
  test('says what it is for, what it changes, and how it is called', () => {
    expect(listing.title).not.toBe('');
    expect(listing.description.length).toBeGreaterThan(80);
    expect(listing.description.length).toBeLessThan(900);
    const example = /(?:Example: |arguments: )(\{.*\})\.$/.exec(listing.description)?.[1];
    expect(example).toBeDefined();
    const given = Object.keys(JSON.parse(example ?? '') as object);
    expect(given.filter((field) => !fieldsOf(listing.inputSchema).includes(field))).toEqual([]);
    expect(listing.inputSchema.required.filter((field) => !given.includes(field))).toEqual([]);
    expect(Object.values(listing.annotations)).toHaveLength(5);
    const { access } = operations[operation] as Operation;
    if (access === 'read') expect(listing.annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
  });

  test('says when to use it and what to do besides', () => {
    const others = SPECIFIED_TOOLS.filter((other) => other !== name && listing.description.includes(other));
    expect([name, others.length > 0 || /[Uu]se it/.test(listing.description)]).toEqual([name, true]);
    const removes = listing.annotations['destructiveHint'] === true && 'dry_run' in (listing.inputSchema['properties'] as object);
    expect([name, !removes || listing.description.includes('dry_run')]).toEqual([name, true]);
    const paged = 'limit' in (listing.inputSchema['properties'] as object);
    expect([name, !paged || /\d (?:per page|rows)/.test(listing.description)]).toEqual([name, true]);
  });

  test('has schemas that say of every value what it may be', () => {
    expect(vague(listing.inputSchema, 'input')).toEqual([]);
    expect(openLists(listing.inputSchema)).toEqual([]);
    expect(vague(listing.outputSchema, 'output')).toEqual([]);
    expect(fieldsOf(listing.outputSchema)).toContain('_warnings');
  });

  test('takes and gives what is specified', () => {
    expect(listing.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(listing.outputSchema.type).toBe('object');
    expect(fieldsOf(listing.inputSchema)).toEqual(expect.arrayContaining([...(ARGUMENTS[name] ?? [])]));
    const said = tools.get(saidBy(name))?.listing.outputSchema ?? {};
    expect(fieldsOf(said)).toEqual(expect.arrayContaining([...(OUTPUTS[name] ?? [])]));
    expect(fieldsOf(listing.inputSchema)).not.toContain('id');
    expect(fieldsOf(listing.inputSchema).slice(0, listing.inputSchema.required.length).toSorted()).toEqual(
      listing.inputSchema.required.toSorted(),
    );
    if (name.startsWith('list_')) expect(fieldsOf(listing.inputSchema)).toEqual(expect.arrayContaining(['skip', 'limit']));
  });
});

test('fields of new records say what the forms say of them', () => {
  for (const kind of ['tool', 'resource', 'prompt', 'toolset', 'connection', 'test'] as const) {
    const properties = tools.get(`create_${kind}`)?.listing.inputSchema['properties'] as Record<string, Record<string, unknown>>;
    const silent = marked(ENTITIES[kind].draft.entries, ({ help }) => help !== undefined)
      .map(([name]) => name)
      .filter((name) => properties[name] !== undefined && properties[name]['description'] === undefined);
    expect([kind, silent]).toEqual([kind, []]);
  }
});

test('a transform template says everything that it reads', () => {
  const scope = transformScope({}, { arguments: {}, vars: {}, caller: NO_CALLER, call: { id: '', time: 0 } });
  const read = ['rows', ...Object.keys(scope), ...Object.keys(scope.caller)];
  const described = [...tools].flatMap(([name, { listing }]) => {
    const { transform_template: template } = listing.inputSchema['properties'] as Record<string, Record<string, unknown>>;
    return template === undefined ? [] : [[name, String(template['description'])] as const];
  });
  expect(described.map(([name]) => name)).toEqual([
    'create_tool',
    'update_tool',
    'preview_sql',
    'create_resource',
    'update_resource',
  ]);
  for (const [name, said] of described) {
    expect([name, read.filter((variable) => !new RegExp(`\\b${variable}\\b`).test(said))]).toEqual([name, []]);
  }
});

test('arguments that are refused to every token are not listed, and still passed on', () => {
  const unlisted = [...tools].map(([name, { listing, arguments: taken }]) => [
    name,
    taken.filter((argument) => !fieldsOf(listing.inputSchema).includes(argument)),
  ]);
  const { update_server_config, ...others } = Object.fromEntries(unlisted) as Record<string, string[]>;
  expect(update_server_config?.length).toBeGreaterThan(10);
  const closed = {
    connection: ['session_values', 'session_role', 'ssh'],
    tool: ['masks', 'log_arguments', 'two_step'],
    resource: ['masks'],
    toolset: ['files', 'groups'],
    test: ['caller'],
  };
  const expected = Object.entries(closed).flatMap(([kind, fields]) =>
    ['create', 'update'].map((verb) => [`${verb}_${kind}`, fields.toSorted()] as const),
  );
  const found = Object.entries(others).filter(([, fields]) => fields.length > 0);
  expect(Object.fromEntries(found.map(([name, fields]) => [name, fields.toSorted()]))).toEqual({
    ...Object.fromEntries(expected),
    preview_sql: ['caller'],
    explain_sql: ['caller'],
  });
});

describe('REST and agent', () => {
  let a: ListeningAgent;
  let client: McpClient;
  beforeAll(async () => {
    a = await listeningAgent();
    client = await a.client('v1', await a.token());
    // Knows the output schemas from here on, and checks every answer against them.
    await client.tools();
  });
  afterAll(async () => {
    await client.close();
    await a.stop();
  });

  /** Who comes in is noted and exported for administrators alone. */
  const ADMINISTRATORS_ONLY = ['identity_providers', 'oauth_apps'];
  const isForTokens = ({ entity_type }: { entity_type: EntityType }) => OF_DEFINITIONS.includes(entity_type);
  const forTokens = (config: unknown) =>
    Object.fromEntries(Object.entries(config ?? {}).filter(([field]) => !ADMINISTRATORS_ONLY.includes(field)));

  test('list the history as REST does, but for who comes in', async () => {
    interface History {
      readonly items: { readonly entity_type: EntityType }[];
    }
    const { items } = await a.s.call('history.list', {});
    const listed = (await client.call('list_history', { details: true, limit: 50 })).structuredContent as unknown as History;
    expect(items.filter(isForTokens)).not.toEqual(items);
    expect(listed.items).toEqual(items.filter(isForTokens));
  });

  test('answer shared operations alike', async () => {
    const shared = [...tools.values()].filter(({ operation, listing }) => {
      const { method, path } = operations[operation] as Operation;
      return method === 'GET' && !path.includes('{') && listing.name !== 'get_generated_code';
    });
    expect(shared.length).toBeGreaterThan(10);
    for (const { operation, listing } of shared) {
      const { path } = operations[operation] as Operation;
      const [rest, agent] = [await a.s.api('GET', path), await client.call(listing.name, {})];
      const differing = ['exported_at', 'points'];
      const plain = (body: Record<string, unknown> | undefined) =>
        Object.fromEntries(
          Object.entries(body ?? {})
            .filter(([field]) => !differing.includes(field))
            .map(([field, value]) => [field, field === 'server_config' ? forTokens(value) : value]),
        );
      expect([listing.name, plain(agent.structuredContent)]).toEqual([listing.name, plain(rest.body)]);
      expect(JSON.parse(agent.content[0]?.text ?? '')).toEqual(agent.structuredContent);
    }
  });

  test('refuse with the same sentence', async () => {
    const rest = await a.s.send('config.update', { server_name: '' });
    const agent = await client.call('update_server_config', { server_name: '' });
    expect([agent.isError, agent.content[0]?.text]).toEqual([true, String(rest.body.detail)]);
    const unknown = await client.call('update_server_config', { server_nam: 'x' });
    expect(unknown.content[0]?.text).toContain('Did you mean server_name?');
    expect((await client.call('get_tool', {})).content[0]?.text).toBe('tool_id is required.');
    for (const tool_id of ['.', '..', 'none', '../tools']) {
      const answer = await client.call('get_tool', { tool_id });
      expect([answer.isError, answer.content[0]?.text]).toEqual([true, expect.stringContaining('There is no')]);
    }
  });

  test('speak of their own arguments, and of names where a name will do', async () => {
    const said = async (name: string, args: Record<string, unknown>) => (await client.call(name, args)).content[0]?.text;
    for (const noun of ['connection', 'tool', 'resource', 'prompt']) {
      expect(await said(`get_${noun}`, { [`${noun}_id`]: 'nowhere' })).toBe(`There is no ${noun} with this id or name.`);
    }
    expect(await said('get_tool', { tool_ids: 'x' })).toBe(
      'tool_id is required. There is no argument tool_ids. Did you mean tool_id?',
    );
    expect(await said('get_tool', { id: 'x' })).toBe('tool_id is required. There is no argument id. Did you mean tool_id?');
    expect(await said('update_tool', { tool_id: 'x', descripton: '' })).toBe(
      'There is no argument descripton. Did you mean description?',
    );
    expect(await said('delete_tool', { tool_id: 'x', dryrun: true })).toBe('There is no argument dryrun. Did you mean dry_run?');
    expect(await said('get_tool', { tool_id: '' })).not.toMatch(/(^| )id /);
    expect(await said('rollback', { history_id: 'nowhere' })).toBe('There is no history entry with this id or name.');
  });

  test('a dry run or a version that a changing tool does not have is refused, and nothing is changed', async () => {
    const settings = async () => (await client.call('get_server_config', {})).structuredContent;
    const before = await settings();
    for (const [tool, given] of [
      ['stop_server', { dry_run: true }],
      ['restore_version', { version: 1, dry_run: true }],
      ['create_connection', { name: 'dry', db_type: 'sqlite', database: 'dry.sqlite', dry_run: true }],
      ['update_server_config', { server_name: 'Dry', dry_run: 'yes' }],
    ] as const) {
      const answer = await client.call(tool, given);
      expect([tool, answer.isError, answer.content[0]?.text]).toEqual([
        tool,
        true,
        'This tool has no dry run, so nothing was changed. Call it without dry_run to make the change.',
      ]);
    }
    const stopped = await client.call('stop_server', { version: 3 });
    expect(stopped.content[0]?.text).toBe('This tool takes no version, so nothing was changed. Call it without one.');
    expect(await settings()).toEqual(before);
    // A tool that reads answers without it.
    const read = await client.call('get_server_config', { dry_run: true });
    expect(read.isError).not.toBe(true);
  });

  test('variables that somebody added since they were read are kept', async () => {
    const read = await client.call('get_global_variables', {});
    const version = read.structuredContent?.['version'] as number;
    await client.call('update_global_variables', { set: { added_since: 'x' } });
    for (const [tool, given] of [
      ['set_global_variables', { variables: {} }],
      ['update_global_variables', { set: { added_since: 'y' } }],
    ] as const) {
      const refused = await client.call(tool, { ...given, version });
      expect([refused.isError, refused.content[0]?.text]).toEqual([
        true,
        expect.stringMatching(/ changed .+ in the meantime; it is now at version \d+\./),
      ]);
    }
    const now = (await client.call('get_global_variables', {})).structuredContent;
    expect(now?.['variables']).toMatchObject({ added_since: { value: 'x' } });
    const done = await client.call('update_global_variables', { delete: ['added_since'], version: now?.['version'] });
    expect(done.isError).not.toBe(true);
  });

  test('tools that read name the arguments that they ignore; tools that change something refuse them', async () => {
    const before = a.tally.undeclared;
    for (const added of [{ wait_for_previous: true }, { verbose: true, id: 'x' }]) {
      expect((await client.call('get_server_health', added)).isError).not.toBe(true);
    }
    const read = await client.call('get_server_health', { verbose: true });
    expect(read.structuredContent?.['_ignored']).toEqual(['verbose']);
    const created = await client.call('update_global_variables', { set: { currency: 'EUR' }, wait_for_previous: true });
    expect([created.isError, created.content[0]?.text]).toEqual([undefined, expect.stringContaining('EUR')]);
    expect(created.structuredContent).not.toHaveProperty('_ignored');
    const refused = await client.call('update_global_variables', { set: { currency: 'USD' }, verbose: true, delet: [] });
    expect([refused.isError, refused.content[0]?.text]).toEqual([
      true,
      'There is no argument verbose. There is no argument delet. Did you mean delete?',
    ]);
    expect((await client.call('get_tool', { tool_id: 'none', id: 'y' })).content[0]?.text).toContain('There is no tool');
    expect(a.tally.undeclared - before).toBe(6);
    const declares = (name: string) => JSON.stringify(tools.get(name)?.listing.outputSchema).includes('"_ignored"');
    expect([declares('get_server_health'), declares('update_global_variables')]).toEqual([true, false]);
  });
});
