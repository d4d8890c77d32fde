import { FILE_NAME, REFUSED_TABLES, refusedFunction, TABLE_FUNCTIONS } from './names.ts';

/** The error for a statement that is not allowed. The message says why. */
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
 * Checks every node of a statement's syntax tree, which DuckDB's parser returns (`json_serialize_sql`). Only names matter, so
 * position and quoting make no difference. Throws RefusedStatement.
 */
export function checkTree(json: string): void {
  const tree = JSON.parse(json) as Node;
  if (tree['error'] === true) {
    // `prepare` reports where a text cannot be parsed.
    if (tree['error_type'] === 'parser' || tree['error_type'] === 'syntax') return;
    throw new RefusedStatement(READS_ONLY, true);
  }
  const statements = tree['statements'];
  if (!Array.isArray(statements) || statements.length !== 1) {
    throw new RefusedStatement('Only one statement can be run at a time; remove what follows the first one.');
  }
  visit(statements[0]);
}

function visit(value: unknown): void {
  // Iterative, because an expression can be nested deeper than the JavaScript stack.
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (Array.isArray(next)) {
      open.push(...(next as unknown[]));
      continue;
    }
    const node = next as Node;
    checkNode(node);
    for (const child of Object.values(node)) if (typeof child === 'object') open.push(child);
  }
}

function checkNode(node: Node): void {
  const { type, function_name, table_name, show_type } = node;
  if (typeof function_name === 'string') {
    const effect = refusedFunction(function_name.toLowerCase());
    if (effect !== null) throw refused('function', function_name, effect);
  }
  if (type === 'TABLE_FUNCTION') {
    const name = called(node['function']);
    if (!TABLE_FUNCTIONS.has(name)) throw refused('function', name, 'is not part of what a tool may use');
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
