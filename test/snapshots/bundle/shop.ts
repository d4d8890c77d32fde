import type { LiveToken } from '#core/contract/deploy/control.ts';
import type { FrozenConnection, FrozenTool, Snapshot } from '#snapshots/format/format.ts';
import { connectionOf, keyring, parameterOf, promptOf, resourceOf, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { testCaller } from '#test/mcp-host/callers.ts';

/** One pixel. */
const PNG =
  '89504e470d0a1a0a0000000d4948445200000001000000010806000000 1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082'.replaceAll(
    ' ',
    '',
  );

export const POSTGRES_SHOP = `
  create table item (id bigint primary key, name text not null, price numeric(10,2), made timestamptz, day date, tags text[],
    data jsonb, photo bytea, ok boolean, ratio float8, mail text, card text);
  insert into item values
    (1, 'pen', 1.50, '2020-01-02 03:04:05.678901+00', '2020-01-02', '{a,NULL,"b c"}', '{"x": 9007199254740993}', '\\x${PNG}', true, 0.1, 'ada@example.com', '4000123412344242'),
    (2, 'cup', 12.00, null, null, null, null, null, false, 'NaN', null, null),
    (9007199254740993, 'ünïcode 😀', 0.10, 'infinity', '1999-12-31', '{}', '[1, null, "t"]', '\\x00ff', null, 1e300, 'x@y', '1')`;
export const LIBSQL_SHOP = [
  'create table item (id integer primary key, name text not null, price real, photo blob, note text)',
  `insert into item values (1, 'pen', 1.5, x'${PNG}', null), (2, 'cup', 12.0, null, 'it''s | pipes'), (9007199254740993, 'ünïcode 😀', 0.1, x'00ff', '')`,
];

const pg_password = 'of the shop "é"';

/** How the databases of the shop are reached, beside their secrets. */
export interface ShopPlaces {
  readonly postgres: Partial<FrozenConnection>;
  readonly libsql: Partial<FrozenConnection>;
  readonly libsql_token: string;
}

export interface Shop {
  readonly snapshot: Snapshot;
  readonly tokens: readonly LiveToken[];
  /** Headers of callers, by name; `nobody` has none. */
  readonly callers: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly bindings: Readonly<Record<string, string>>;
}

const sealed = (id: string, secret: string) => ({ $sealed: keyring.seal(secret, `connection/${id}/password`) });
const optional = { required: false };

/** A shop on two databases, with every return type, kind of parameter and source of values. */
export async function shopOf({ postgres, libsql, libsql_token }: ShopPlaces, mask_key: string): Promise<Shop> {
  const [a, b] = [crypto.randomUUID(), crypto.randomUUID()];
  const pg = connectionOf({
    id: a,
    name: 'Shop & co',
    db_type: 'postgresql',
    password: sealed(a, pg_password),
    session_values: [{ name: 'app.customer', from: 'caller.claims.customer' }],
    ...postgres,
  });
  const lite = connectionOf({ id: b, name: 'lite', db_type: 'libsql', password: sealed(b, libsql_token), ...libsql });
  const kinds = ['rows', 'row', 'column', 'value', 'text', 'markdown', 'csv'] as const;
  const id = [parameterOf('id', 'integer', { minimum: 1 })];
  const everything = [
    parameterOf('s', 'string', { max_length: 20, pattern: '^[^!]*$', ...optional }),
    parameterOf('i', 'integer', { maximum: 100, default: 7, ...optional }),
    parameterOf('n', 'number', optional),
    parameterOf('b', 'boolean', optional),
    parameterOf('d', 'date', optional),
    parameterOf('t', 'datetime', optional),
    parameterOf('u', 'uuid', optional),
    parameterOf('j', 'json', optional),
    parameterOf('e', 'string', { enum: ['red', 'blue'], ...optional }),
  ];
  const PG_ALL = 'select id, name, price, made, day, tags, data, ok, ratio from item order by id';
  const LITE_ALL = 'select id, name, price, note from item order by id';
  const tools: FrozenTool[] = [
    ...kinds.map((return_type) => toolOf(pg, `pg_${return_type}`, PG_ALL, { return_type, tags: ['wide'] })),
    ...kinds.map((return_type) =>
      toolOf(pg, `pg_${return_type}_of`, 'select name, price from item where id = :id', { return_type, parameters: id }),
    ),
    ...kinds.map((return_type) => toolOf(lite, `lite_${return_type}`, LITE_ALL, { return_type, tags: ['small'] })),
    ...kinds.map((return_type) =>
      toolOf(lite, `lite_${return_type}_of`, 'select name, price from item where id = :id', { return_type, parameters: id }),
    ),
    ...([pg, lite] as const).flatMap((connection) => {
      const own = connection === pg ? 'pg' : 'lite';
      return [
        toolOf(connection, `${own}_image`, 'select photo from item where id = :id', { return_type: 'image', parameters: id }),
        toolOf(connection, `${own}_audio`, 'select photo from item where id = :id', { return_type: 'audio', parameters: id }),
        toolOf(connection, `${own}_template`, 'select id, name from item order by id', {
          return_type: 'text',
          transform_template:
            '{% for row in rows %}{{ loop.index }}. {{ row.name | upper }} {{ vars.currency }}\n{% endfor %}{{ caller.sub }}',
        }),
        toolOf(
          connection,
          `${own}_find`,
          'select id, name from item where true [[and name = :name]] [[and id in (:ids)]] order by id',
          {
            parameters: [parameterOf('name', 'string', optional), parameterOf('ids', 'array', { items: 'integer', ...optional })],
          },
        ),
        toolOf(connection, `${own}_first`, 'select id, name from item order by id', { max_rows: 2 }),
        toolOf(connection, `${own}_small`, 'select id, name from item order by id', { max_bytes: 60 }),
        toolOf(connection, `${own}_write`, 'update item set name = :name where id = 2', {
          mode: 'write',
          parameters: [parameterOf('name', 'string')],
        }),
        toolOf(connection, `${own}_write_rows`, 'update item set name = :name where id = 2 returning id, name', {
          mode: 'write',
          parameters: [parameterOf('name', 'string')],
        }),
        toolOf(connection, `${own}_write_unshown`, 'update item set name = :name where id = 2', {
          mode: 'write',
          parameters: [parameterOf('name', 'string')],
          transform_template: '{{ 1 // 0 }}',
        }),
        toolOf(connection, `${own}_not_read_only`, 'delete from item'),
        toolOf(connection, `${own}_broken`, 'select nothing from item'),
        toolOf(connection, `${own}_caller`, 'select :sub as sub, :tenant as tenant, :call as call, :currency as currency', {
          parameters: [
            parameterOf('sub', 'string', { from: 'caller.sub' }),
            parameterOf('tenant', 'string', { from: 'caller.claims.customer' }),
            parameterOf('call', 'string', { from: 'call.id' }),
            parameterOf('currency', 'string', { from: 'vars.currency' }),
          ],
        }),
      ];
    }),
    toolOf(
      pg,
      'pg_types',
      'select :s::text as s, :i::bigint as i, :n::numeric as n, :b::boolean as b, :d::date as d, :t::timestamptz as t, :u::uuid as u, :j::jsonb as j, :e::text as e',
      { parameters: everything },
    ),
    toolOf(lite, 'lite_types', 'select :s as s, :i as i, :n as n, :b as b, :d as d, :t as t, :u as u, :j as j, :e as e', {
      parameters: everything,
    }),
    toolOf(pg, 'pg_divide', 'select 1 / :by::integer as result', { parameters: [parameterOf('by', 'integer')] }),
    toolOf(pg, 'pg_slow', 'select pg_sleep(20)', { timeout_ms: 300 }),
    toolOf(pg, 'pg_session', "select current_setting('app.customer', true) as customer"),
    toolOf(pg, 'pg_masked', 'select name, mail, card, day, price, id from item order by id', {
      masks: [
        { columns: ['mail'], mask: 'email', unless_groups: ['staff'] },
        { columns: ['card'], mask: 'last4', unless_groups: [] },
        { columns: ['day'], mask: 'year', unless_groups: [] },
        { columns: ['price'], mask: 'null', unless_groups: [] },
        { columns: ['id'], mask: 'remove', unless_groups: [] },
        { columns: ['name'], mask: 'hash', unless_groups: ['staff'] },
      ],
    }),
    toolOf(pg, 'pg_cached', 'select count(*) as n from item', { cache_ttl_seconds: 60 }),
  ];
  const snapshot = snapshotOf(7, {
    connections: [pg, lite],
    tools,
    resources: [
      resourceOf(pg, 'shop://items', 'select id, name from item order by id', { name: 'items' }),
      resourceOf(pg, 'shop://items.csv', 'select id, name from item order by id', { name: 'csv', mime_type: 'text/csv' }),
      resourceOf(lite, 'shop://lite/{id}', 'select id, name from item where id = :id', { name: 'one', parameters: id }),
    ],
    prompts: [
      promptOf('greet', 'Hello {{ who | title }}, prices are in {{ vars.currency }}; you are {{ caller.sub }}.', [
        { name: 'who', required: true, enum: ['ada', 'grace'] },
      ]),
      promptOf('fails', '{{ 1 / 0 }}{{ who.x.y.z }}', [{ name: 'who', required: false }]),
    ],
    toolsets: [
      {
        id: crypto.randomUUID(),
        name: 'sales',
        title: 'Sales',
        description: '',
        instructions: 'Use pg_rows first.',
        include: { tags: ['wide'], connection_ids: [], tool_ids: [], resource_ids: [], prompt_ids: [] },
        exclude: { tags: [], connection_ids: [], tool_ids: [], resource_ids: [], prompt_ids: [] },
        read_only: false,
        groups: [],
      },
    ],
    server: { auth_type: 'bearer', global_variables: { currency: 'EUR' } },
  });
  const ada = await testCaller('ada', { sub: 'ada', customer: 'c-1', groups: ['staff'] });
  const bob = await testCaller('bob', {});
  const seller = await testCaller('seller', { customer: 'c-2' });
  return {
    snapshot,
    tokens: [ada.live, bob.live, { ...seller.live, toolsets: ['sales'] }],
    callers: {
      ada: ada.headers,
      bob: bob.headers,
      seller: seller.headers,
      nobody: {},
      stranger: { authorization: 'Bearer svc_mcp_unknown' },
    },
    bindings: { SHOP_CO_PASSWORD: pg_password, LITE_PASSWORD: libsql_token, SLUICE_MASK_KEY: mask_key },
  };
}
