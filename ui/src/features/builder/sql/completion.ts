import type { Table, TableColumn } from '#core/contract/definitions/schema.ts';
import { BEFORE_TABLE } from '#core/lib/sql/mentions.ts';
import { createSignal } from 'solid-js';
import type { Call } from '#ui/src/api.ts';
import { RESERVED } from './reserved-words.ts';
import type { Dialect, SqlPiece } from './scan.ts';

/** Tables and columns of a connection, loaded on demand and cached. */
export interface Catalog {
  readonly connection_id: string;
  /** Empty when the database is unreachable: there are no completions then. */
  tables(): Promise<readonly Table[]>;
  columns(table: Pick<Table, 'schema' | 'name'>): Promise<readonly TableColumn[]>;
  /** The tables loaded so far. */
  readonly known: () => readonly Table[];
}

export function createCatalog(call: Call, connection_id: string): Catalog {
  const [known, setKnown] = createSignal<readonly Table[]>([]);
  const columns = new Map<string, Promise<readonly TableColumn[]>>();
  let tables: Promise<readonly Table[]> | undefined;
  /** Failures are not cached. */
  const load = async <T>(ask: () => Promise<{ items: readonly T[] }>, forget: () => void): Promise<readonly T[]> => {
    try {
      return (await ask()).items;
    } catch {
      forget();
      return [];
    }
  };
  return {
    connection_id,
    known,
    async tables() {
      tables ??= load(
        () => call('schema.tables', { connection_id }),
        () => (tables = undefined),
      );
      const items = await tables;
      setKnown(items);
      return items;
    },
    columns({ schema, name }) {
      const key = JSON.stringify([schema, name]);
      const found =
        columns.get(key) ??
        load(
          () => call('schema.columns', { connection_id, table: name, ...(schema === null ? {} : { schema }) }),
          () => columns.delete(key),
        );
      columns.set(key, found);
      return found;
    },
  };
}

/** What can be completed at an offset of a statement. */
export type CompletionPoint =
  | { readonly kind: 'parameter'; readonly from: number }
  /** After `name.`: columns of that table, or tables of that schema. */
  | { readonly kind: 'member'; readonly of: string; readonly from: number }
  | { readonly kind: 'table'; readonly from: number }
  | { readonly kind: 'any'; readonly from: number };

/** What to complete at the cursor; undefined inside strings and comments. */
export function completionPointAt(sql: string, pieces: readonly SqlPiece[], cursor: number): CompletionPoint | undefined {
  const inside = pieces.find(({ kind, start, end, open }) => {
    if (kind === 'comment') return start < cursor && (cursor < end || (cursor === end && !sql.startsWith('/*', start)) || open);
    return kind === 'string' && start < cursor && (cursor < end || open);
  });
  if (inside !== undefined) return undefined;
  const before = sql.slice(0, cursor);
  const word = /[\w$\u0080-\uffff]*$/.exec(before)?.[0] ?? '';
  const from = cursor - word.length;
  if (before[from - 1] === ':' && before[from - 2] !== ':') return { kind: 'parameter', from };
  const member = /(["`]?)([\w$\u0080-\uffff]+)\1\.$/.exec(before.slice(0, from));
  if (member !== null) return { kind: 'member', of: member[2] ?? '', from };
  const earlier = pieces.filter(({ kind, end }) => kind !== 'comment' && end <= from).at(-1);
  const keyword = earlier === undefined ? '' : sql.slice(earlier.start, earlier.end).toLowerCase();
  return { kind: BEFORE_TABLE.has(keyword) ? 'table' : 'any', from };
}

/** The name, quoted where the dialect requires it. */
export function quoteName(name: string, dialect: Dialect): string {
  const plain = dialect === 'postgresql' ? /^[a-z_][a-z0-9_]*$/ : /^[A-Za-z_][A-Za-z0-9_]*$/;
  if (plain.test(name) && !RESERVED.has(name.toLowerCase())) return name;
  const quote = dialect === 'mysql' ? '`' : '"';
  const text = dialect === 'clickhouse' ? name.replaceAll('\\', '\\\\') : name;
  return `${quote}${text.replaceAll(quote, quote + quote)}${quote}`;
}

/** The name of a table in a statement: with its schema where the name alone reads another table. */
export const qualifiedName = ({ schema, name, in_path }: Pick<Table, 'schema' | 'name' | 'in_path'>, dialect: Dialect): string =>
  [...(schema === null || in_path ? [] : [schema]), name].map((part) => quoteName(part, dialect)).join('.');
