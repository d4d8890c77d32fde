import type { GuardField } from '#core/lib/prompt-guard/guard.ts';

/**
 * How the prompt guard scans fields of definitions that are not plain text, by path. `*` is an index, or the name of a variable.
 * `null`: not scanned, because the field contains an id, an address, a secret, a certificate or a value of a fixed list.
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
  ssh: null,
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
/** Values whose property names the author chooses: every text in them is scanned, including those names. */
const FREE: ReadonlySet<string> = new Set(['parameters.*.default', 'parameters.*.examples']);
/** Fields whose property names the author chooses. Findings contain these names. */
const NAMED: ReadonlySet<string> = new Set(['global_variables']);

/** Every text of a definition, with its path and kind. Names that are part of a value are not in the path. */
export const textsOf = (definition: Readonly<Record<string, unknown>>): GuardField[] => textsIn(definition, '', '');

/** @param pattern the path in the form of `KINDS`. */
function textsIn(value: unknown, path: string, pattern: string): GuardField[] {
  const kind = KINDS[pattern];
  if (kind === null) return [];
  if (FREE.has(pattern)) return freeTexts(value, path);
  if (typeof value === 'string') return [{ field: path, text: value, kind: kind ?? 'text' }];
  if (typeof value !== 'object' || value === null) return [];
  const named = NAMED.has(pattern);
  const below = (name: string, last: string): string => (name === '' ? last : `${name}.${last}`);
  return Object.entries(value).flatMap(([key, item]) => [
    ...(named ? textOf(path, key) : []),
    ...textsIn(item, below(path, key), below(pattern, named || Array.isArray(value) ? '*' : key)),
  ]);
}

/** @param counts whether the path includes the indexes of lists. Inside an object it does not. */
function freeTexts(value: unknown, path: string, counts = true): GuardField[] {
  if (typeof value === 'string') return textOf(path, value);
  if (Array.isArray(value)) return value.flatMap((item, index) => freeTexts(item, counts ? `${path}.${index}` : path, counts));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [...textOf(path, key), ...freeTexts(item, path, false)]);
}

const textOf = (field: string, text: string): GuardField[] => [{ field, text, kind: 'text' }];
