import { fc } from '#test/support/chance.ts';

/** Stands in values that are sent and in no error that is answered. */
export const CANARY = 'zqcanary';

export interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
}

export const UNKNOWN_FIELD = 'unknown_field';

/** A value that JSON text can hold and `JSON.stringify` cannot write. */
const raw = (text: string) => `@@${text}@@`;
export const toJson = (value: unknown): string => JSON.stringify(value).replaceAll(/"@@(.*?)@@"/g, '$1');

const nested = (depth: number) => raw(`${'['.repeat(depth)}${']'.repeat(depth)}`);
const NASTY: readonly unknown[] = [
  CANARY,
  `${CANARY}\0`,
  `\ud800${CANARY}`,
  `${CANARY}\udc00`,
  `${CANARY}\u202e\ufeff\u0007\n`,
  `${CANARY}' or '1'='1`,
  `\${${CANARY}} {{ ${CANARY}.constructor }} {% for`,
  `../../${CANARY}`,
  `%00${CANARY}`,
  ':undeclared [[ select',
  CANARY.repeat(9_000),
  '',
  ' ',
  null,
  true,
  false,
  0,
  -1,
  raw('-0'),
  1.5,
  2 ** 31,
  2 ** 53,
  raw('1e400'),
  raw('-1e400'),
  raw('9'.repeat(400)),
  raw('1e-400'),
  [],
  {},
  [CANARY],
  [[CANARY]],
  [null],
  { [UNKNOWN_FIELD]: CANARY },
  { toString: CANARY, valueOf: 1 },
  raw(`{"__proto__":{"admin":true}}`),
  raw(`{"constructor":{"prototype":{"admin":true}}}`),
  raw(`{"a":1,"a":"${CANARY}"}`),
  raw(`[${Array.from({ length: 3_000 }, () => '1').join()}]`),
  nested(60),
  nested(70),
  { $sealed: CANARY },
  '********',
  '[redacted]',
];

/** Values that a field may really have, so that requests get beyond the schema. */
export function likely(ids: Readonly<Record<string, string>>): Readonly<Record<string, readonly unknown[]>> {
  const text = ['List them', 'a', `${CANARY} as a text`];
  return {
    connection_id: [ids['connection'], ids['connection'], ids['down']],
    id: [ids['down'], ids['tool']],
    history_id: [ids['history']],
    entity_id: [ids['connection'], ids['tool']],
    entity_type: ['connection', 'tool', 'server_config', 'nothing'],
    table: ['products', 'main.products', 'no_such', '.'],
    name: ['fuzzed', 'fuzzed_2', 'a', 'shop'],
    description: text,
    text,
    sql_query: [
      'select 1 as one',
      'select :a as a',
      'select id from products where id in (:a) [[ and name = :b ]]',
      'delete from products',
    ],
    uri_template: ['shop://products/{a}', 'shop://all', 'shop://{a}/{b}'],
    mime_type: ['application/json', 'text/csv', 'image/png'],
    transform_template: [null, '{{ rows | length }}', '{% for r in rows %}{{ r.id }}{% endfor %}'],
    template: ['Hello {{ a }}', null],
    pattern: ['^a+$', '[', '(a+)+$'],
    db_type: ['sqlite', 'sqlite', 'postgresql', 'oracle'],
    database: ['shop.sqlite', '../sluice.sqlite', CANARY],
    host: ['127.0.0.1', '169.254.169.254', '::1'],
    format: ['sluice/1'],
    server_config: [{ server_name: 'Other' }, { host: CANARY }],
    tags: [['a'], ['a', 'b'], 'a,b'],
    cors_origins: [['http://localhost:3000'], ['http://localhost:5173', CANARY]],
    introspection_url: ['http://127.0.0.1:9/introspect', null],
  };
}

export function valueOf(name: string, schema: Schema, known: ReturnType<typeof likely>): fc.Arbitrary<unknown> {
  const usual = known[name];
  if (usual !== undefined) return fc.constantFrom(...usual);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => valueOf('', one, known)));
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'integer' || schema.type === 'number') {
    return fc.integer({ min: schema.minimum ?? -5, max: Math.min(schema.maximum ?? 5, (schema.minimum ?? 0) + 1_000) });
  }
  if (schema.type === 'array') return fc.array(valueOf('', schema.items ?? {}, known), { maxLength: 2 });
  if (schema.type === 'object' && schema.properties !== undefined) return objectOf(schema, known);
  if (schema.type === 'object') {
    const item = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
    return fc.dictionary(fc.constantFrom('a', 'b', 'token', 'toString', 'application_name'), valueOf('', item, known), {
      maxKeys: 2,
    });
  }
  return fc.constantFrom<unknown>('a', 'b', 'text', 3);
}

export function objectOf(
  { properties = {}, required = [] }: Schema,
  known: ReturnType<typeof likely>,
): fc.Arbitrary<Record<string, unknown>> {
  const entries = Object.entries(properties).map(([name, schema]) => {
    const value = valueOf(name, schema, known);
    return [name, required.includes(name) ? value : fc.option(value, { freq: 1, nil: undefined })] as const;
  });
  return fc
    .record(Object.fromEntries(entries))
    .map((value) => Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)));
}

export interface Mutation {
  readonly at: number;
  readonly what: unknown;
}

export const mutations = fc.array(fc.record({ at: fc.nat(), what: fc.constantFrom(...NASTY) }), { maxLength: 2 });

/** Puts what a mutation brings somewhere into a value. */
function mutate(value: unknown, { at, what }: Mutation): unknown {
  if (typeof value !== 'object' || value === null) return what;
  if (Array.isArray(value)) return [...value.slice(1), mutate(value[0], { at: at >> 1, what })];
  const keys = [...Object.keys(value), UNKNOWN_FIELD, 'toString'];
  const key = keys[at % keys.length] ?? '';
  const inner = Math.floor(at / keys.length);
  if (Array.isArray(value))
    return value.with(Math.min(Number(key) || 0, Math.max(value.length - 1, 0)) || 0, mutate(value[0], { at: inner, what }));
  const before = (value as Record<string, unknown>)[key];
  return { ...value, [key]: inner % 2 === 0 ? what : mutate(before, { at: inner >> 1, what }) };
}

export const mutateAll = (value: unknown, changes: readonly Mutation[]): unknown =>
  changes.reduce<unknown>((changed, change) => mutate(changed, change), value);
