import { describe, expect, test } from 'bun:test';
import type { HistoryEntry } from '#core/contract/history.ts';
import { differencesOf, type FieldChange, type Shown } from '#ui/src/fields/differences/differences.ts';
import { infoOf, writtenFields } from '#ui/src/fields/differences/field-info.ts';

type Type = HistoryEntry['entity_type'];

const TYPES = [
  'connection',
  'tool',
  'resource',
  'prompt',
  'toolset',
  'test',
  'server_config',
  'admin',
  'notice',
  'identity_provider',
  'mcp_token',
  'oauth_app',
  'agent_token',
  'oauth_client',
] as const satisfies readonly Type[];

/** Not a field of the record: what a request says of itself. */
const OF_REQUESTS: readonly string[] = ['version', 'duration_minutes', 'secret_set'];

/** As the parts of a schema stand in valibot. */
interface Looked {
  readonly type: string;
  readonly wrapped?: Looked;
  readonly entries?: Readonly<Record<string, Looked>>;
  readonly item?: Looked;
  readonly value?: Looked;
  readonly options?: readonly (string | Looked)[];
  readonly literal?: unknown;
}

/** Two values that a field may have, whatever else it demands of them. */
function samplesOf(schema: Looked): readonly [unknown, unknown] {
  if (schema.wrapped !== undefined) return samplesOf(schema.wrapped);
  const sides = <T>(make: (side: 0 | 1) => T): readonly [T, T] => [make(0), make(1)];
  if (schema.entries !== undefined) {
    const entries = Object.entries(schema.entries).filter(([name]) => !OF_REQUESTS.includes(name));
    return sides((side) => Object.fromEntries(entries.map(([name, of]) => [name, samplesOf(of)[side]])));
  }
  switch (schema.type) {
    case 'array':
      return sides((side) => [samplesOf(schema.item ?? { type: 'string' })[side]]);
    case 'record':
      return sides((side) => ({ [side === 0 ? 'first' : 'second']: samplesOf(schema.value ?? { type: 'string' })[side] }));
    case 'picklist':
      return sides((side) => schema.options?.[side]);
    case 'union':
      return [samplesOf(schema.options?.[0] as Looked)[0], samplesOf(schema.options?.at(-1) as Looked)[1]];
    case 'boolean':
      return [false, true];
    case 'number':
      return [1, 2];
    case 'literal':
      return [schema.literal, 'other'];
    case 'string':
      return ['alpha', 'beta'];
    default:
      return [{ inner: 'alpha' }, { inner: 'beta' }];
  }
}

const wordsOf = (shown: Shown): string[] => {
  if (shown.kind === 'lines') return shown.lines.map(({ text }) => text);
  return shown.kind === 'text' ? [] : [shown.before ?? '', shown.after ?? ''];
};

function said(type: Type, name: string, change: FieldChange, whole?: 'added'): string[] {
  const { fields } = differencesOf(type, { [name]: change }, whole);
  return fields.flatMap(({ label, shown }) => [label, ...wordsOf(shown)]);
}

const RAW = /[{}[\]"]|\b[a-z]+_[a-z_]+\b|undefined|\[object/;
/** Names of MCP methods and wire values that people know as they are. */
const fieldsOf = (type: string) => Object.entries(writtenFields(type)).filter(([name]) => !OF_REQUESTS.includes(name));

describe('every field of every record', () => {
  for (const type of TYPES) {
    test(`${type}: a change, a new value and a removed one are said in words`, () => {
      const fields = fieldsOf(type);
      expect(fields.length).toBeGreaterThan(0);
      const faults: string[] = [];
      for (const [name, schema] of fields) {
        const [old, now] = samplesOf(schema);
        const cases = { changed: { old, new: now }, set: { old: null, new: now }, unset: { old: now, new: null } };
        if (infoOf(type, name).label === '') faults.push(`${name} has no label`);
        for (const [what, change] of Object.entries(cases)) {
          const texts = said(type, name, change);
          const is_default = what !== 'changed' && texts.length === 0;
          if (texts.length === 0 && !is_default) faults.push(`${name} ${what}: says nothing`);
          for (const text of texts) if (RAW.test(text)) faults.push(`${name} ${what}: ${text}`);
        }
        for (const text of said(type, name, { old: null, new: old }, 'added'))
          if (RAW.test(text)) faults.push(`${name} added: ${text}`);
      }
      expect(faults).toEqual([]);
    });

    test(`${type}: each member of an object has a sentence of its own`, () => {
      const faults: string[] = [];
      for (const [name, schema] of fieldsOf(type)) {
        const [value] = samplesOf(schema);
        const [other] = [samplesOf(schema)[1]];
        const [item, changed] = [value, other].map((one) => (Array.isArray(one) ? (one as unknown[])[0] : one));
        if (typeof item !== 'object' || item === null || typeof changed !== 'object') continue;
        const wrap = (one: unknown) => (Array.isArray(value) ? [one] : one);
        for (const [member, of] of Object.entries(changed as object)) {
          const texts = said(type, name, { old: wrap(item), new: wrap({ ...item, [member]: of as unknown }) });
          if (texts.length < 2) faults.push(`${name}.${member}: says nothing`);
          for (const text of texts) if (RAW.test(text)) faults.push(`${name}.${member}: ${text}`);
        }
      }
      expect(faults).toEqual([]);
    });
  }
});

const pair = (before: string, after: string) => ({ kind: 'pair' as const, before, after });
const lines = (...texts: string[]) => texts;

const SENTENCES: readonly (readonly [
  type: Type,
  changes: Readonly<Record<string, readonly [unknown, unknown]>>,
  label: string,
  shown: Shown | readonly string[],
])[] = [
  ['tool', { max_rows: [100, 500] }, 'Row limit', pair('100 rows', '500 rows')],
  ['tool', { max_rows: [null, 500] }, 'Row limit', pair('Connection default', '500 rows')],
  ['tool', { timeout_ms: [5_000, 30_000] }, 'Timeout', pair('5.0 s', '30.0 s')],
  ['connection', { max_bytes: [1_048_576, 4_194_304] }, 'Size limit', pair('1.0 MiB', '4.0 MiB')],
  [
    'tool',
    { confirm: ['never', 'above'], confirm_rows: [null, 10] },
    'Confirmation',
    pair('not required', 'required above 10 rows'),
  ],
  ['tool', { confirm_rows: [10, 1] }, 'Confirmation', pair('required above 10 rows', 'required above 1 row')],
  ['tool', { confirm: [null, 'always'] }, 'Confirmation', pair('not required', 'required before every change')],
  [
    'tool',
    { masks: [[], [{ column: 'email', mask: 'email', unless_groups: ['managers'] }]] },
    'Masks',
    lines('email: masked to its domain except for managers'),
  ],
  // As a snapshot has it.
  [
    'tool',
    { masks: [null, [{ columns: ['email', 'mail'], mask: 'hash', unless_groups: [] }]] },
    'Masks',
    lines('email and mail: masked as a hash'),
  ],
  [
    'tool',
    {
      masks: [
        [
          { column: 'email', mask: 'text', unless_groups: [] },
          { column: 'phone', mask: 'last4', unless_groups: [] },
        ],
        [{ column: 'email', mask: 'email', unless_groups: ['managers', 'sales'] }],
      ],
    },
    'Masks',
    lines('email: masked as *** → masked to its domain', 'email: shown to managers and sales', 'phone: no longer masked'),
  ],
  [
    'tool',
    {
      parameters: [
        [
          { name: 'status', type: 'string', required: false, enum: ['open', 'paid'] },
          { name: 'page', type: 'integer' },
        ],
        [
          { name: 'status', type: 'string', required: true, enum: ['open', 'closed'], description: 'State of the order' },
          { name: 'since', type: 'date', required: false, default: '2026-01-01' },
        ],
      ],
    },
    'Parameters',
    lines(
      'status: now required',
      'status: also allows closed, no longer allows paid',
      'status: description “State of the order”',
      'since: optional date, default 2026-01-01',
      'page',
    ),
  ],
  [
    'tool',
    { view: [null, { kind: 'bar', x: 'month', y: ['total'] }] },
    'View',
    lines('drawn as Bar chart', 'axis month', 'numbers total'),
  ],
  [
    'tool',
    { annotations: [{ destructiveHint: true }, { destructiveHint: false }] },
    'Annotations',
    lines('does not destroy data'),
  ],
  ['tool', { log_arguments: [null, { email: 'email' }] }, 'Log arguments', lines('off → on, with email masked to its domain')],
  ['tool', { log_arguments: [null, true] }, 'Log arguments', pair('off', 'on')],
  ['tool', { read_only: [true, false] }, 'Read-only', pair('on', 'off')],
  ['tool', { return_type: ['rows', 'csv'] }, 'Return type', pair('Rows', 'CSV')],
  [
    'tool',
    {
      output_schema: [
        { properties: { rows: { items: { properties: { id: { type: 'integer' }, name: { type: ['string', 'null'] } } } } } },
        {
          properties: {
            rows: { items: { properties: { id: { type: 'string' }, total: { anyOf: [{ type: 'number' }, { type: 'null' }] } } } },
          },
        },
      ],
    },
    'Result',
    lines('id: integer → string', 'total: number', 'name'),
  ],
  ['connection', { password: ['[redacted]', '[redacted]'] }, 'Password', lines('replaced')],
  [
    'connection',
    { extra_params: [{}, { time_zone: '+02:00', files: '{"a.csv":{"delimiter":";","header":false}}' }] },
    'Engine settings',
    lines('Time zone: +02:00', 'a.csv: delimiter ;', 'a.csv: without a header line'),
  ],
  ['connection', { ssh: [null, { host: 'bastion', jump: [{ host: 'gate' }] }] }, 'SSH tunnel', lines('through gate and bastion')],
  [
    'connection',
    {
      ssh: [
        { host: 'bastion', port: 22, private_key: null, jump: [] },
        { host: 'bastion', port: 2222, private_key: '[redacted]', jump: [] },
      ],
    },
    'SSH tunnel',
    lines('SSH port 22 → 2222', 'private key replaced'),
  ],
  ['connection', { ssh: [{ host: 'bastion', jump: [] }, null] }, 'SSH tunnel', lines('no tunnel any more')],
  ['server_config', { deploy_gates: [{ lint: 'warn' }, { lint: 'block' }] }, 'Deploy gates', lines('Lint: warn → block')],
  [
    'server_config',
    { global_variables: [{ region: 'eu' }, { region: { value: 'us', type: 'string' } }] },
    'Variables',
    lines('region: eu → us'),
  ],
  ['server_config', { auth_type: ['none', 'oauth'] }, 'Authentication', pair('None', 'Sign-in')],
  ['test', { expect: [{}, { rows: { min: 1 }, max_ms: 200 }] }, 'Expected', lines('rows at least 1', 'maximum duration 200 ms')],
  ['toolset', { groups: [['sales'], ['sales', 'support']] }, 'Groups', lines('support')],
  ['notice', { events: [['deploy'], ['deploy', 'tool_failing']] }, 'Events', lines('Tool failing')],
  ['mcp_token', { idle_timeout_minutes: [60, 1_440] }, 'Idle timeout', pair('1 hour', '1 day')],
];

for (const [type, values, label, shown] of SENTENCES) {
  const sentence = `${type}: ${Object.keys(values).join(' and ')} as ${JSON.stringify(shown)}`.slice(0, 100);
  test(sentence, () => {
    const changes = Object.fromEntries(Object.entries(values).map(([name, [old, now]]) => [name, { old, new: now }]));
    const { fields } = differencesOf(type, changes);
    expect(fields).toHaveLength(1);
    const [field] = fields;
    expect(field?.label).toBe(label);
    if (field === undefined) return;
    expect(Array.isArray(shown) ? wordsOf(field.shown) : field.shown).toEqual(shown as never);
  });
}

test('a new record shows what is set and names the fields that are left at their defaults', () => {
  const { fields, defaults } = differencesOf(
    'tool',
    {
      name: { old: null, new: 'find_orders' },
      sql_query: { old: null, new: 'select 1' },
      max_rows: { old: null, new: 100 },
      tags: { old: null, new: [] },
      return_type: { old: null, new: 'rows' },
      confirm: { old: null, new: 'above' },
      confirm_rows: { old: null, new: 5 },
    },
    'added',
  );
  expect(fields.map(({ label }) => label)).toEqual(['SQL', 'Row limit', 'Confirmation']);
  expect(fields.at(-1)?.shown).toMatchObject({ after: 'required above 5 rows' });
  expect(defaults).toEqual(['Tags', 'Return type']);
});

test('SQL and long texts stay a diff of lines', () => {
  const { fields } = differencesOf('tool', { sql_query: { old: 'select 1', new: 'select 2' } });
  expect(fields).toEqual([{ name: 'sql_query', label: 'SQL', shown: { kind: 'text', before: 'select 1', after: 'select 2' } }]);
});

test('a new tool says nothing of limits and annotations that are as usual', () => {
  const added = (values: Readonly<Record<string, unknown>>) =>
    differencesOf(
      'tool',
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { old: null, new: value }])),
      'added',
    );
  const reads = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
  const usual = added({ timeout_ms: 30_000, max_rows: 1_000, annotations: { ...reads, title: 'Orders' } });
  expect([usual.fields, usual.defaults.toSorted()]).toEqual([[], ['Annotations', 'Row limit', 'Timeout']]);
  const other = added({ timeout_ms: 5_000, annotations: { ...reads, openWorldHint: true } });
  expect(other.fields.map(({ name }) => name).toSorted()).toEqual(['annotations', 'timeout_ms']);
});

test('a kind of database is called by its name', () => {
  const { fields } = differencesOf('connection', { db_type: { old: 'mysql', new: 'postgresql' } });
  expect(fields[0]?.shown).toEqual({ kind: 'pair', before: 'MySQL', after: 'PostgreSQL' });
});
