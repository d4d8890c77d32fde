import type { MaskKind } from '#core/contract/definitions/masks.ts';
import { marked } from '#core/contract/marks.ts';
import { JwtIssuer } from '#core/contract/settings/jwt-issuers.ts';
import { inSentence } from '#ui/src/kernel/record-words.ts';
import { movedWords, type ItemWords, type Part } from './lines.ts';
import { anyWords, isNothing, type Item, listed } from './value-words.ts';

const text = (value: unknown): string => (isNothing(value) ? '' : anyWords(value));
const textsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(anyWords) : []);
const joinWords = (...words: readonly (string | false)[]): string => words.filter(Boolean).join(', ');
const named = (item: Item): string => text(item['name']);
const quoted = (value: unknown): string => `“${anyWords(value)}”`;

const DESCRIPTION: Part = { label: 'description', say: quoted };
const REQUIRED: Part = { label: 'required', became: (now) => (now === false ? 'now optional' : 'now required') };
const ALLOWED: Part = {
  label: 'allowed values',
  became: (now, old) => {
    if (isNothing(now)) return 'any value allowed';
    return isNothing(old) ? `now one of ${listed(textsIn(now), 'or')}` : movedWords(now, old, 'also allows', 'no longer allows');
  },
};

const typeOf = ({ type, items }: Item): string => (type === 'array' ? `list of ${text(items) || 'string'}` : text(type));
const rangeOf = (from: unknown, to: unknown, what: string): string | false => {
  if (isNothing(from) && isNothing(to)) return false;
  if (isNothing(to)) return `at least ${anyWords(from)}${what}`;
  return isNothing(from) ? `at most ${anyWords(to)}${what}` : `${anyWords(from)} to ${anyWords(to)}${what}`;
};

const PARAMETER: ItemWords = {
  name: named,
  whole: (item) =>
    joinWords(
      `${item['required'] === false ? 'optional' : 'required'} ${typeOf(item)}`,
      !isNothing(item['from']) && `filled by ${anyWords(item['from'])}`,
      !isNothing(item['enum']) && `one of ${listed(textsIn(item['enum']), 'or')}`,
      rangeOf(item['minimum'], item['maximum'], ''),
      rangeOf(item['min_length'], item['max_length'], item['type'] === 'array' ? ' items' : ' characters'),
      !isNothing(item['pattern']) && `matches ${anyWords(item['pattern'])}`,
      !isNothing(item['default']) && `default ${anyWords(item['default'])}`,
      !isNothing(item['description']) && quoted(item['description']),
    ),
  parts: {
    required: REQUIRED,
    type: { label: 'type' },
    items: { label: 'elements' },
    default: { label: 'default' },
    enum: ALLOWED,
    minimum: { label: 'minimum' },
    maximum: { label: 'maximum' },
    min_length: { label: 'min length' },
    max_length: { label: 'max length' },
    pattern: { label: 'pattern' },
    from: { label: 'filled by', became: (now, old) => (isNothing(now) ? `no longer filled by ${anyWords(old)}` : undefined) },
    examples: { label: 'examples' },
    description: DESCRIPTION,
  },
};

const ARGUMENT: ItemWords = {
  name: named,
  whole: (item) =>
    joinWords(
      item['required'] === false ? 'optional' : 'required',
      !isNothing(item['enum']) && `one of ${listed(textsIn(item['enum']), 'or')}`,
      !isNothing(item['description']) && quoted(item['description']),
    ),
  parts: { required: REQUIRED, enum: ALLOWED, description: DESCRIPTION },
};

/** What callers see of a column, after its name. */
export const MASKED: Readonly<Record<MaskKind, string>> = {
  remove: 'removed from the result',
  null: 'masked as empty',
  text: 'masked as ***',
  hash: 'masked as a hash',
  last4: 'masked to its last four characters',
  email: 'masked to its domain',
  year: 'masked to its year',
};
export const maskWords = (kind: unknown): string => Object.entries(MASKED).find(([name]) => name === kind)?.[1] ?? 'masked';

/** A snapshot has the names that the column has in its result. */
const columnOf = ({ column, columns }: Item): string => text(column) || listed(textsIn(columns)) || 'a column';

const MASK: ItemWords = {
  name: columnOf,
  whole: ({ mask, unless_groups }) => {
    const groups = textsIn(unless_groups);
    return `${maskWords(mask)}${groups.length === 0 ? '' : ` except for ${listed(groups)}`}`;
  },
  gone: (name) => `${name}: no longer masked`,
  parts: {
    mask: { label: '', became: (now, old) => `${maskWords(old)} → ${maskWords(now)}` },
    unless_groups: {
      label: 'groups',
      became: (now, old) => movedWords(now, old, 'shown to', 'no longer shown to'),
    },
  },
};

const MESSAGE: ItemWords = {
  name: (_, index) => `Message ${index + 1}`,
  whole: ({ role, template }) =>
    joinWords(`from the ${text(role)}`, text(template).length <= 80 && !text(template).includes('\n') && quoted(template)),
  parts: { role: { label: 'role' }, template: { label: 'text', say: quoted } },
};

const SESSION_VALUE: ItemWords = {
  name: named,
  whole: ({ from }) => `filled by ${text(from)}`,
  parts: { from: { label: 'filled by' } },
};

const directionOf = (desc: unknown): string => (desc === true ? 'descending' : 'ascending');
const PAGE_COLUMN: ItemWords = {
  name: columnOf,
  whole: ({ desc }) => directionOf(desc),
  parts: { desc: { label: '', became: (now) => `now ${directionOf(now)}` } },
};

const ISSUER: ItemWords = {
  name: ({ issuer }) => text(issuer),
  whole: ({ audience }) => (isNothing(audience) ? '' : `audience ${anyWords(audience)}`),
  parts: {
    ...Object.fromEntries(marked(JwtIssuer.entries).map(([name, { label }]) => [name, { label: inSentence(label) }])),
    algorithms: { label: 'algorithms', became: (now, old) => movedWords(now, old, 'also accepts', 'no longer accepts') },
  },
};

const toolsetWords = (value: unknown): string =>
  value === null || value === undefined ? 'everything' : listed(textsIn(value)) || 'nothing';
const CLIENT: ItemWords = {
  name: ({ client_id }) => text(client_id),
  whole: ({ toolsets }) => `sees ${toolsetWords(toolsets)}`,
  parts: {
    client_secret: { label: 'secret' },
    toolsets: { label: 'toolsets', became: (now, old) => `sees ${toolsetWords(old)} → ${toolsetWords(now)}` },
    claims: { label: 'claims' },
  },
};

/** Fields that are lists of objects. */
export const ITEM_WORDS: Readonly<Record<string, ItemWords>> = {
  parameters: PARAMETER,
  arguments: ARGUMENT,
  masks: MASK,
  messages: MESSAGE,
  session_values: SESSION_VALUE,
  page_by: PAGE_COLUMN,
  jwt_issuers: ISSUER,
  oauth_clients: CLIENT,
};
