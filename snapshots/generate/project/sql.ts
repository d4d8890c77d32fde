import type { SqlNode, Read, Dialect, LimitPlace, Database } from './definitions.ts';
import type { BoundType, Json, BoundStatement } from '#core/lib/sql/result.ts';

export function sql(texts: TemplateStringsArray, ...nodes: readonly SqlNode[]): SqlNode[] {
  return texts.flatMap((text, i) => [text, ...nodes.slice(i, i + 1)]).filter((node) => node !== '');
}

/** A bound value, never inserted into the text. */
export const value = (name: string, read?: Read): SqlNode => ({ name, ...read });

/** The value of a LIMIT; without a value there is no limit. */
export const limitOf = (name: string, read?: Read): SqlNode => ({ name, place: 'limit', ...read });

/** The value of an OFFSET; without a value no row is skipped. */
export const offsetOf = (name: string, read?: Read): SqlNode => ({ name, place: 'offset', ...read });

/** `IN (…)` over the elements of an array. */
export const anyOf = (name: string, read?: Read): SqlNode => ({ name, in: 'in', ...read });

/** `NOT IN (…)` over the elements of an array. */
export const noneOf = (name: string, read?: Read): SqlNode => ({ name, in: 'not_in', ...read });

/** A block that is dropped unless all these names have a value. */
export const whenGiven =
  (...names: readonly string[]) =>
  (texts: TemplateStringsArray, ...nodes: readonly SqlNode[]): SqlNode => ({ block: sql(texts, ...nodes), names });

type Value = Extract<SqlNode, { name: string }>;

interface Statement {
  readonly dialect: Dialect;
  readonly sql: readonly SqlNode[];
  readonly types: Readonly<Record<string, BoundType>>;
  /** Names that always have a value. */
  readonly given?: readonly string[];
}

const isPostgres = (dialect: Dialect): dialect is 'postgresql' | 'duckdb' => dialect === 'postgresql' || dialect === 'duckdb';

/** `IN` over an empty list: matches no row, and `NOT IN` matches every row. */
const NO_ROW = {
  mysql: '(SELECT NULL FROM DUAL WHERE FALSE)',
  sqlite: '(SELECT NULL WHERE FALSE)',
};

/** Values for a missing LIMIT or OFFSET, for databases that do not read NULL as no limit. */
const UNLIMITED: Partial<Readonly<Record<Dialect, Readonly<Record<LimitPlace, Json>>>>> = {
  mysql: { limit: '18446744073709551615', offset: 0 },
  sqlite: { limit: -1, offset: 0 },
  clickhouse: { limit: '9223372036854775807', offset: 0 },
};

/** Binds values. The SQL text depends on which values are given and on the lengths of lists, never on a value. */
export function bind(
  statement: Statement,
  given: Readonly<Record<string, Json | undefined>>,
  database: Pick<Database, 'placeholder' | 'list'> = {},
): BoundStatement {
  const { dialect, types, given: always = [] } = statement;
  const mark = database.placeholder ?? ((number: number) => (isPostgres(dialect) ? `$${number}` : '?'));
  const values: Json[] = [];
  const kinds: BoundType[] = [];
  const declared: (string | null)[] = [];
  const numbers = new Map<string, number>();
  let text = '';
  add(statement.sql);
  const is_declared = declared.some((as) => as !== null);
  return { text, values, types: kinds, declared: is_declared ? declared : undefined };

  function valueOf(name: string): Json | undefined {
    return Object.hasOwn(given, name) ? given[name] : undefined;
  }

  function add(nodes: readonly SqlNode[]): void {
    for (const node of nodes) {
      if (typeof node === 'string') {
        text += node;
      } else if ('block' in node) {
        text += ' ';
        if (node.names.every((name) => valueOf(name) !== undefined)) add(node.block);
        text += ' ';
      } else {
        // "limit:n" must not become the identifier limit$1.
        if (/[\w$\u0080-\uffff]/.test(text.at(-1) ?? '')) text += ' ';
        text += node.in ? list(node) : placeholder(node);
      }
    }
  }

  function list(node: Value): string {
    const { name } = node;
    const negated = node.in === 'not_in';
    if (isPostgres(dialect)) return `${negated ? '<> ALL' : '= ANY'}(${placeholder(node)})`;
    const operator = negated ? 'NOT IN' : 'IN';
    const items = valueOf(name);
    const elements = Array.isArray(items) ? items : [items];
    if (dialect === 'clickhouse') {
      if (items === undefined || items === null) return '= NULL';
      return database.list?.(elements.length === 0 ? null : placeholder(node), negated) ?? '';
    }
    if (items === undefined || items === null) return `${operator} (NULL)`;
    if (elements.length === 0) return `${operator} ${NO_ROW[dialect]}`;
    const type = types[name] ?? 'string';
    return `${operator} (${elements.map((item: Json) => push(item, typeof type === 'object' ? type.array : type)).join(', ')})`;
  }

  function placeholder({ name, as, apart = 0, place }: Value): string {
    const bounds = place && UNLIMITED[dialect] ? place : undefined;
    const key = `${bounds ?? ''} ${apart} ${as ?? ''} ${name}`;
    const known = numbers.get(key);
    const type = types[name] ?? 'string';
    if (known !== undefined) return mark(known, -1, type, bounds, always.includes(name));
    if (isPostgres(dialect) || dialect === 'clickhouse') numbers.set(key, values.length + 1);
    return push(valueOf(name) ?? (bounds && UNLIMITED[dialect]?.[bounds]) ?? null, type, as, bounds, always.includes(name));
  }

  function push(item: Json, type: BoundType, as?: string, place?: LimitPlace, is_given = false): string {
    values.push(item);
    kinds.push(type);
    declared.push(as ?? null);
    return mark(values.length, -1, type, place, is_given);
  }
}
