import { SSH_LABELS } from '#core/contract/definitions/connection-fields.ts';
import { VIEW_CHOICES } from '#core/contract/definitions/view.ts';
import { ROLE_CHOICES } from '#core/contract/roles.ts';
import { AUDIT_KIND_CHOICES } from '#core/contract/settings/audit-kinds.ts';
import { DEPLOY_GATES } from '#core/contract/settings/deploy-gates.ts';
import { inSentence } from '#ui/src/kernel/record-words.ts';
import { fieldName, plural } from '#ui/src/kernel/words.ts';
import { maskWords } from './items.ts';
import { type Line, movedWords, type Part, partLines, type RecordKind, recordLines, valueLines } from './lines.ts';
import { anyWords, isItem, isNothing, isSame, type Item, listed } from './value-words.ts';

const itemOf = (value: unknown): Item => (isItem(value) ? value : {});

/** What the members of an object say. */
const wordsBy =
  (parts: Readonly<Record<string, Part>>) =>
  (before: unknown, now: unknown): Line[] =>
    partLines(parts, itemOf(before), itemOf(now));

const flag = (on: string, off: string): Part => ({
  label: '',
  became: (now, old) => (isNothing(now) ? `${old === true ? on : off}: not set` : now === true ? on : off),
});

/** As tools have them, and as clients get them. */
const DESTRUCTIVE = flag('may destroy data', 'does not destroy data');
const IDEMPOTENT = flag('calling again has no further effect', 'calling again has another effect');
const OPEN_WORLD = flag('reaches other systems', 'does not reach other systems');
const ANNOTATIONS = wordsBy({
  destructive_hint: DESTRUCTIVE,
  idempotent_hint: IDEMPOTENT,
  open_world_hint: OPEN_WORLD,
  readOnlyHint: flag('only reads', 'changes data'),
  destructiveHint: DESTRUCTIVE,
  idempotentHint: IDEMPOTENT,
  openWorldHint: OPEN_WORLD,
  title: { label: 'title' },
});

/** A secret is never shown, only that it changed. */
const secretPart = (label: string): Part => ({
  label,
  became: (now) => `${label} ${isNothing(now) ? 'removed' : 'replaced'}`,
});

const choiceWords = (choices: Readonly<Record<string, { readonly label: string }>>) => (value: unknown) =>
  choices[anyWords(value)]?.label ?? anyWords(value);
const viewKind = choiceWords(VIEW_CHOICES);
const VIEW = wordsBy({
  kind: {
    label: '',
    became: (now, old) =>
      isNothing(now)
        ? 'automatic'
        : isNothing(old)
          ? `drawn as ${viewKind(now)}`
          : `drawn as ${viewKind(old)} → ${viewKind(now)}`,
  },
  title: { label: 'heading' },
  x: { label: 'axis' },
  y: { label: 'numbers' },
  series: { label: 'split by' },
  format: { label: 'number format' },
});

const SSH = wordsBy({
  ...Object.fromEntries(Object.entries(SSH_LABELS).map(([name, label]) => [name, { label: inSentence(label) }])),
  private_key: secretPart('private key'),
  passphrase: secretPart('passphrase'),
  password: secretPart('SSH password'),
});
const hostOf = (value: unknown): string => anyWords(itemOf(value)['host']);
const jumpsOf = (value: unknown): readonly unknown[] => {
  const { jump } = itemOf(value);
  return Array.isArray(jump) ? jump : [];
};
function sshLines(before: unknown, now: unknown): Line[] {
  if (isNothing(now)) return [{ kind: 'removed', text: 'no tunnel any more' }];
  const passed = (value: unknown) => [...jumpsOf(value), value].map(hostOf);
  if (isNothing(before)) return [{ kind: 'added', text: `through ${listed(passed(now))}` }];
  const lines = SSH(before, now);
  // Secrets are hidden on both sides, so a replaced one shows no difference.
  if (isSame(before, now)) return [{ kind: 'changed', text: 'secrets replaced' }];
  if (isSame(jumpsOf(before), jumpsOf(now))) return lines;
  return [...lines, { kind: 'changed', text: `through ${listed(passed(before))} → ${listed(passed(now))}` }];
}

const SESSION_ROLE = wordsBy({
  from: { label: 'role from' },
  allow: {
    label: 'allowed roles',
    became: (now, old) =>
      isNothing(now) || isNothing(old) ? undefined : movedWords(now, old, 'also allows', 'no longer allows'),
  },
});

const CALLER = wordsBy({
  sub: { label: 'subject' },
  name: { label: 'name' },
  email: { label: 'email' },
  client_id: { label: 'client ID' },
  groups: { label: 'groups' },
  token: { label: 'token' },
  claims: { label: 'claims' },
});

const rowsWords = (value: unknown): string => {
  const { min, max } = itemOf(value);
  if (isNothing(max)) return `at least ${anyWords(min)}`;
  if (isNothing(min)) return `at most ${anyWords(max)}`;
  return min === max ? `exactly ${anyWords(min)}` : `${anyWords(min)} to ${anyWords(max)}`;
};
const eachWords = (value: unknown): string =>
  Array.isArray(value) ? value.map((row) => anyWords(row)).join('; ') : anyWords(value);
const EXPECT = wordsBy({
  error: {
    label: 'error contains',
    became: (now, old) =>
      isNothing(now)
        ? 'the call must succeed'
        : now === true
          ? 'the call must fail'
          : old === true
            ? `error contains ${anyWords(now)}`
            : undefined,
  },
  columns: { label: 'columns' },
  absent_columns: { label: 'absent columns' },
  rows: { label: 'rows', say: rowsWords },
  contains: { label: 'contains rows', say: eachWords },
  equals: { label: 'result equals', say: eachWords },
  max_ms: { label: 'maximum duration', say: (value) => `${anyWords(value)} ms` },
  max_bytes: { label: 'maximum size', say: (value) => plural(Number(value), 'byte') },
  max_tokens: { label: 'maximum tokens' },
});

const SELECTED: Readonly<Record<string, RecordKind>> = {
  connection_ids: 'connection',
  tool_ids: 'tool',
  resource_ids: 'resource',
  prompt_ids: 'prompt',
};
function selectionLines(before: unknown, now: unknown): Line[] {
  const [old, fresh] = [itemOf(before), itemOf(now)];
  const tags = isSame(old['tags'] ?? [], fresh['tags'] ?? [])
    ? []
    : valueLines(old['tags'], fresh['tags'], (tag) => `tag ${tag}`);
  const records = Object.entries(SELECTED).flatMap(([name, kind]) => {
    const [was, is] = [old[name], fresh[name]].map((ids) => (Array.isArray(ids) ? ids.map(String) : [])) as [string[], string[]];
    const lineOf = (type: 'added' | 'removed', ids: readonly string[]): Line[] =>
      ids.length === 0 ? [] : [{ kind: type, text: ids.length === 1 ? kind : plural(ids.length, kind), records: { kind, ids } }];
    return [
      ...lineOf(
        'added',
        is.filter((id) => !was.includes(id)),
      ),
      ...lineOf(
        'removed',
        was.filter((id) => !is.includes(id)),
      ),
    ];
  });
  return [...tags, ...records];
}

/** A variable is a value, or has one. */
const variableWords = (value: unknown): string => anyWords(isItem(value) ? value['value'] : value);

const FILE = wordsBy({
  table: { label: 'table' },
  delimiter: { label: 'delimiter' },
  header: { label: '', became: (now) => (now === false ? 'without a header line' : 'with a header line') },
  encoding: { label: 'encoding' },
  decimal: { label: 'decimal sign' },
  dates: { label: 'dates' },
  as_text: { label: '', became: (now) => (now === true ? 'every column is text' : 'types are detected') },
  types: { label: 'types' },
  thousands: { label: 'thousands separators' },
  leave_out: { label: 'left-out columns' },
});

/** The settings of files are text in an object of texts. */
function parsed(value: unknown): Item {
  try {
    return itemOf(typeof value === 'string' ? JSON.parse(value) : value);
  } catch {
    return {};
  }
}
function engineLines(before: unknown, now: unknown): Line[] {
  const { files: old_files, ...old } = itemOf(before);
  const { files, ...fresh } = itemOf(now);
  const [was, is] = [parsed(old_files), parsed(files)];
  const of_files = [...new Set([...Object.keys(is), ...Object.keys(was)])].flatMap((file) =>
    FILE(was[file], is[file]).map((line) => ({ ...line, text: `${file}: ${line.text}` })),
  );
  return [...recordLines(old, fresh, anyWords, (name) => fieldName(undefined, name)), ...of_files];
}

function loggedLines(before: unknown, now: unknown): Line[] {
  const wordsOf = (value: unknown): string => {
    if (!isItem(value)) return value === true ? 'on' : 'off';
    return `on, with ${listed(Object.entries(value).map(([name, mask]) => `${name} ${maskWords(mask)}`))}`;
  };
  return [{ kind: 'changed', text: before === undefined ? wordsOf(now) : `${wordsOf(before)} → ${wordsOf(now)}` }];
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}
const objectIn = (schema: Schema | undefined): Schema | undefined =>
  schema?.properties === undefined ? schema?.anyOf?.find(({ properties }) => properties !== undefined) : schema;
const typesIn = ({ type, anyOf = [], items }: Schema): readonly string[] => [
  ...(typeof type === 'string' ? [type] : (type ?? [])).map((name) =>
    name === 'array' && items ? `list of ${typeOf(items)}` : name,
  ),
  ...anyOf.flatMap(typesIn),
];
/** Null is left out: most columns may be empty. */
function typeOf(schema: Schema): string {
  const types = [...new Set(typesIn(schema))];
  const known = types.filter((name) => name !== 'null');
  return known.length === 0 ? (types[0] ?? 'any value') : known.join(' or ');
}
/** The columns that a result has, else its members. */
function columnsOf(value: unknown): Item {
  const schema = objectIn(itemOf(value));
  const { rows, row } = schema?.properties ?? {};
  const shape = objectIn(rows?.items) ?? objectIn(row) ?? schema;
  return Object.fromEntries(Object.entries(shape?.properties ?? {}).map(([name, column]) => [name, typeOf(column)]));
}
function resultLines(before: unknown, now: unknown): Line[] {
  if (isNothing(now)) return [{ kind: 'removed', text: 'no structured result any more' }];
  const lines = recordLines(columnsOf(before), columnsOf(now));
  return lines.length > 0 ? lines : [{ kind: 'changed', text: 'structure changed' }];
}

const OWNERS = ['tool', 'resource', 'prompt'] as const;
function ownerLines(before: unknown, now: unknown): Line[] {
  const lineOf = (kind: Line['kind'], value: unknown): Line[] => {
    const owner = itemOf(value);
    const of = OWNERS.find((name) => name === owner['kind']);
    return of === undefined ? [] : [{ kind, text: of, records: { kind: of, ids: [String(owner['id'])] } }];
  };
  return [...lineOf('added', now), ...lineOf('removed', before)];
}

const gateLines = (before: unknown, now: unknown): Line[] => {
  const labels: Readonly<Record<string, { readonly label: string }>> = DEPLOY_GATES;
  return recordLines(before, now, anyWords, (name) => labels[name]?.label ?? fieldName(undefined, name));
};

const auditDaysLines = (before: unknown, now: unknown): Line[] => {
  const labels: Readonly<Record<string, { readonly label: string }>> = AUDIT_KIND_CHOICES;
  return recordLines(
    before,
    now,
    (days) => `${anyWords(days)} days`,
    (name) => labels[name]?.label ?? fieldName(undefined, name),
  );
};
const SYSLOG = wordsBy({
  host: { label: 'host' },
  port: { label: 'port' },
  tls: flag('over TLS', 'without TLS'),
  format: { label: 'format' },
  ca: { label: 'certificate authority', became: () => 'another certificate authority' },
});

/** Fields that are objects. @returns undefined: it is none of these. */
export const OBJECT_WORDS: Readonly<Record<string, (before: unknown, now: unknown) => Line[]>> = {
  annotations: ANNOTATIONS,
  view: VIEW,
  session_role: SESSION_ROLE,
  ssh: sshLines,
  caller: CALLER,
  expect: EXPECT,
  include: selectionLines,
  exclude: selectionLines,
  global_variables: (before, now) => recordLines(before, now, variableWords),
  extra_params: engineLines,
  log_arguments: loggedLines,
  output_schema: resultLines,
  owner: ownerLines,
  deploy_gates: gateLines,
  audit_retention_days: auditDaysLines,
  audit_syslog: SYSLOG,
  arguments: (before, now) => recordLines(before, now),
  claims: (before, now) => recordLines(before, now),
  role_by_group: (before, now) => recordLines(before, now, choiceWords(ROLE_CHOICES)),
  dns_credentials: () => [{ kind: 'changed', text: 'replaced' }],
};
