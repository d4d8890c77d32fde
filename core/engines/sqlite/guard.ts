import { constants } from 'node:sqlite';

/** `trusted` is for internal statements only. `describe` prepares without running, so it permits what `write` permits. */
export type SqlitePolicy = 'read' | 'write' | 'trusted';

export interface SqliteGuard {
  readonly policy: { current: SqlitePolicy };
  /** The action that was refused since the last call of `forget`, as text for the user. */
  readonly refused: () => string | null;
  /** True when the statement prepared since `forget` changes the schema. */
  readonly changesSchema: () => boolean;
  readonly forget: () => void;
  /** SQLite calls this for every action of a statement while compiling it (sqlite.org/c3ref/set_authorizer.html). */
  readonly authorize: (action: number, first: string | null, second: string | null) => number;
}

const REFUSED_NAMES: Readonly<Record<number, string>> = {
  [constants.SQLITE_ATTACH]: 'ATTACH and VACUUM',
  [constants.SQLITE_DETACH]: 'DETACH',
  [constants.SQLITE_PRAGMA]: 'This PRAGMA',
  [constants.SQLITE_TRANSACTION]: 'Transaction control',
  [constants.SQLITE_SAVEPOINT]: 'SAVEPOINT',
  [constants.SQLITE_FUNCTION]: 'This function',
  [constants.SQLITE_CREATE_VTABLE]: 'This kind of virtual table',
  [constants.SQLITE_CREATE_TEMP_TABLE]: 'A temporary table',
  [constants.SQLITE_CREATE_TEMP_VIEW]: 'A temporary view',
  [constants.SQLITE_CREATE_TEMP_TRIGGER]: 'A temporary trigger',
  [constants.SQLITE_CREATE_TEMP_INDEX]: 'A temporary index',
};

/**
 * Writes are allowed here: the read-only file handle is the boundary, and an R-tree prepares its inserts even when it is only
 * read. Temporary objects are refused because the next call in the session would see them.
 */
const READ_ACTIONS: ReadonlySet<number> = new Set([
  constants.SQLITE_SELECT,
  constants.SQLITE_READ,
  constants.SQLITE_RECURSIVE,
  constants.SQLITE_FUNCTION,
  constants.SQLITE_PRAGMA,
  constants.SQLITE_INSERT,
  constants.SQLITE_UPDATE,
  constants.SQLITE_DELETE,
]);

const SCHEMA_ACTIONS: ReadonlySet<number> = new Set([
  constants.SQLITE_CREATE_TABLE,
  constants.SQLITE_CREATE_INDEX,
  constants.SQLITE_CREATE_VIEW,
  constants.SQLITE_CREATE_TRIGGER,
  constants.SQLITE_CREATE_VTABLE,
  constants.SQLITE_DROP_TABLE,
  constants.SQLITE_DROP_INDEX,
  constants.SQLITE_DROP_VIEW,
  constants.SQLITE_DROP_TRIGGER,
  constants.SQLITE_DROP_VTABLE,
  constants.SQLITE_ALTER_TABLE,
  constants.SQLITE_REINDEX,
  constants.SQLITE_ANALYZE,
]);

/** Pragmas that only read the schema. `database_list` is excluded because it reveals the path of the file. */
const PRAGMAS: ReadonlySet<string> = new Set([
  'table_info',
  'table_xinfo',
  'table_list',
  'index_list',
  'index_info',
  'index_xinfo',
  'foreign_key_list',
  'foreign_key_check',
  'collation_list',
  'function_list',
]);

/** Pragmas that read without an argument and write with one. */
const PRAGMAS_WITHOUT_ARGUMENT: ReadonlySet<string> = new Set([
  'application_id',
  'data_version',
  'encoding',
  'freelist_count',
  'page_count',
  'page_size',
  'schema_version',
  'user_version',
]);

const FUNCTIONS_REFUSED: ReadonlySet<string> = new Set(['load_extension', 'fts3_tokenizer']);
const MODULES: ReadonlySet<string> = new Set(['fts3', 'fts4', 'fts5', 'fts4aux', 'fts5vocab', 'rtree', 'rtree_i32', 'geopoly']);

/** An allow-list of actions, applied by SQLite: an unknown action is refused. */
export function createSqliteGuard(): SqliteGuard {
  const policy: { current: SqlitePolicy } = { current: 'trusted' };
  let refused: string | null = null;
  let changes = false;

  function authorize(action: number, first: string | null, second: string | null): number {
    if (policy.current === 'trusted') return constants.SQLITE_OK;
    if (SCHEMA_ACTIONS.has(action)) changes = true;
    if (isAllowed(policy.current, action, first, second)) return constants.SQLITE_OK;
    refused ??= REFUSED_NAMES[action] ?? 'Changing the schema';
    return constants.SQLITE_DENY;
  }

  return {
    policy,
    authorize,
    refused: () => refused,
    changesSchema: () => changes,
    forget() {
      refused = null;
      changes = false;
    },
  };
}

function isAllowed(policy: SqlitePolicy, action: number, first: string | null, second: string | null): boolean {
  if (action === constants.SQLITE_FUNCTION) return !FUNCTIONS_REFUSED.has(second?.toLowerCase() ?? '');
  if (action === constants.SQLITE_PRAGMA) return isPragmaAllowed(first?.toLowerCase() ?? '', second);
  if (READ_ACTIONS.has(action)) return true;
  if (action === constants.SQLITE_CREATE_VTABLE) return policy === 'write' && MODULES.has(second?.toLowerCase() ?? '');
  return policy === 'write' && SCHEMA_ACTIONS.has(action);
}

function isPragmaAllowed(name: string, argument: string | null): boolean {
  return PRAGMAS.has(name) || (argument === null && PRAGMAS_WITHOUT_ARGUMENT.has(name));
}
