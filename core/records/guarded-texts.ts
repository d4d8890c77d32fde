import type { GuardField } from '#core/lib/prompt-guard/guard.ts';

/**
 * Fields that are not plain text, where a definition has them; `*` is an index, or the name of a variable. `null`: not read,
 * being an id, an address, a secret, a certificate or a word of a closed list.
 */
const KINDS: Readonly<Record<string, GuardField['kind'] | null>> = {
  id: null,
  connection_id: null,
  db_type: null,
  host: null,
  username: null,
  password: null,
  ssl_mode: null,
  ssl_ca: null,
  ssl_cert: null,
  ssl_key: null,
  extra_params: null,
  return_type: null,
  created_at: null,
  updated_at: null,
  'parameters.*.type': null,
  'parameters.*.items': null,
  'messages.*.role': null,
  'global_variables.*.type': null,
  sql_query: 'sql',
  template: 'template',
  transform_template: 'template',
  'messages.*.template': 'template',
};
/** Values whose properties the author names: every text in them is read, the names as well. */
const FREE: ReadonlySet<string> = new Set(['parameters.*.default', 'parameters.*.examples']);
/** Fields whose properties the author names, and which are named in findings. */
const NAMED: ReadonlySet<string> = new Set(['global_variables']);

/** Every text of a definition with its path and what it is for. A path has no name that is part of a value. */
export const textsOf = (definition: Readonly<Record<string, unknown>>): GuardField[] => textsIn(definition, '', '');

function textsIn(value: unknown, path: string, place: string): GuardField[] {
  const kind = KINDS[place];
  if (kind === null) return [];
  if (FREE.has(place)) return freeTexts(value, path);
  if (typeof value === 'string') return [{ field: path, text: value, kind: kind ?? 'text' }];
  if (typeof value !== 'object' || value === null) return [];
  const named = NAMED.has(place);
  const below = (name: string, last: string): string => (name === '' ? last : `${name}.${last}`);
  return Object.entries(value).flatMap(([key, item]) => [
    ...(named ? textOf(path, key) : []),
    ...textsIn(item, below(path, key), below(place, named || Array.isArray(value) ? '*' : key)),
  ]);
}

/** @param counts whether the path names the items of lists; in an object it names nothing more. */
function freeTexts(value: unknown, path: string, counts = true): GuardField[] {
  if (typeof value === 'string') return textOf(path, value);
  if (Array.isArray(value)) return value.flatMap((item, index) => freeTexts(item, counts ? `${path}.${index}` : path, counts));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [...textOf(path, key), ...freeTexts(item, path, false)]);
}

const textOf = (field: string, text: string): GuardField[] => [{ field, text, kind: 'text' }];
