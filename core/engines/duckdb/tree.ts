import { FILE_NAME, REFUSED_TABLES, refusedFunction, TABLE_FUNCTIONS } from './names.ts';

/** Why a statement is not allowed. */
export class RefusedStatement extends Error {
  override readonly name = 'RefusedStatement';
  readonly writes: boolean;

  constructor(sentence: string, writes = false) {
    super(sentence);
    this.writes = writes;
  }
}

export const READS_ONLY =
  'DuckDB connections are read-only: a tool can hold one SELECT, WITH, VALUES, FROM, DESCRIBE or SUMMARIZE statement.';

type Node = Readonly<Record<string, unknown>>;

/**
 * Looks at the tree that DuckDB's own parser makes of a statement (`json_serialize_sql`), every node of it. Names alone decide, so
 * it does not matter where one stands or how it is quoted. Throws RefusedStatement.
 *
 * @param own names of macros in the database that were found to do nothing else either.
 */
export function checkTree(json: string, own: ReadonlySet<string> = new Set()): void {
  const tree = JSON.parse(json) as Node;
  if (tree['error'] === true) {
    // A text that cannot be parsed is left to `prepare`, which says where it is wrong.
    if (tree['error_type'] === 'parser' || tree['error_type'] === 'syntax') return;
    throw new RefusedStatement(READS_ONLY, true);
  }
  const statements = tree['statements'];
  if (!Array.isArray(statements) || statements.length !== 1) {
    throw new RefusedStatement('Only one statement can be run at a time; remove what follows the first one.');
  }
  visit(statements[0], own);
}

function visit(value: unknown, own: ReadonlySet<string>): void {
  // Not recursive: an expression may be nested deeper than our stack.
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (Array.isArray(next)) {
      open.push(...(next as unknown[]));
      continue;
    }
    const node = next as Node;
    checkNode(node, own);
    for (const child of Object.values(node)) if (typeof child === 'object') open.push(child);
  }
}

function checkNode(node: Node, own: ReadonlySet<string>): void {
  const { type, function_name, table_name, show_type } = node;
  if (typeof function_name === 'string') {
    const effect = refusedFunction(function_name.toLowerCase());
    if (effect !== null) throw refused('function', function_name, effect);
  }
  if (type === 'TABLE_FUNCTION') {
    const name = called(node['function']);
    if (!TABLE_FUNCTIONS.has(name) && !own.has(name)) throw refused('function', name, 'is not part of what a tool may use');
  }
  if (type === 'BASE_TABLE' && typeof table_name === 'string') {
    const effect = REFUSED_TABLES.get(table_name.toLowerCase());
    if (effect !== undefined) throw refused('table', table_name, effect);
    if (FILE_NAME.test(table_name)) {
      throw new RefusedStatement(`A statement can only read the tables of its own database, not files such as ${table_name}.`);
    }
  }
  if (type === 'SHOW_REF' && !isShown(show_type, table_name)) throw new RefusedStatement('Only SHOW TABLES is allowed.');
}

const called = (value: unknown): string => {
  const name = typeof value === 'object' && value !== null ? (value as Node)['function_name'] : undefined;
  return typeof name === 'string' ? name.toLowerCase() : '';
};

const SHOWN: ReadonlySet<unknown> = new Set(['"tables"', '"__show_tables_expanded"', '__show_tables_expanded']);

const isShown = (show_type: unknown, table_name: unknown): boolean =>
  show_type === 'DESCRIBE' || show_type === 'SUMMARY' || SHOWN.has(table_name);

const refused = (kind: string, name: string, effect: string): RefusedStatement =>
  new RefusedStatement(`The ${kind} ${name} ${effect}; it is not allowed in a tool.`);
