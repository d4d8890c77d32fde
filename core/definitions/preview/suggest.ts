import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import type { Suggestion } from '#core/contract/definitions/preview.ts';
import type { TableColumn } from '#core/contract/definitions/schema.ts';
import type { BoundType } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { textOf } from '#core/engines/shared/rows.ts';
import { AppError } from '#core/errors.ts';
import { bind } from '#core/lib/sql/bind.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import type { Mention } from '#core/lib/sql/mentions.ts';
import { parseSql } from '#core/lib/sql/parse.ts';
import { type ParameterUse, parameterUses } from '#core/lib/sql/uses.ts';
import type { Context } from '#core/context/context.ts';
import { ownerOf } from '../owners.ts';
import { withinTimeout, grammarOf } from '#core/sources/statements.ts';

const TIMEOUT_MS = 3_000;
const MAX_TABLES = 8;
const MAX_COLUMNS = 500;

/**
 * Suggests parameters for a statement: from the type that the database gives each placeholder, and from the type, the allowed values
 * and the comment of the column that it is compared with or written to. Empty when the statement or the database cannot be read.
 */
export async function suggestParameters(
  context: Context,
  { connection_id, sql_query }: { readonly connection_id: string; readonly sql_query: string },
): Promise<Suggestion[]> {
  try {
    const connection = await ownerOf(context, connection_id);
    const dialect = await grammarOf(context.app, connection);
    const { uses, tables } = parameterUses(sql_query, dialect);
    if (uses.length === 0) return [];
    const source = await context.app.sources.of(connection);
    const pending = Promise.all([describedTypes(source, sql_query, dialect, uses), columnsOf(source, tables)]);
    const [types, columns] = await withinTimeout(pending, TIMEOUT_MS);
    return uses.map((use) => toSuggestion(use, types.get(use.name) ?? null, columnOf(use, columns)));
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
}

function toSuggestion(use: ParameterUse, described: BoundType | null, found: KnownColumn | undefined): Suggestion {
  const column = found?.column;
  const scalar: ScalarType = scalarOf(described) ?? use.type ?? column?.parameter ?? 'string';
  const is_list = use.list || (described !== null && typeof described === 'object');
  const choices = use.exact && (scalar === 'string' || scalar === 'integer' || scalar === 'number') ? column?.enum : undefined;
  return {
    name: use.name,
    ...(is_list ? { type: 'array', items: scalar } : { type: scalar }),
    ...(choices === undefined ? {} : { enum: choices }),
    description: column?.comment ?? '',
    ...(found === undefined
      ? {}
      : { column: { schema: found.mention.schema, table: found.mention.table, name: found.column.name } }),
  };
}

const scalarOf = (type: BoundType | null): ScalarType | null =>
  type === null ? null : typeof type === 'string' ? type : type.array;

/** The type of each parameter, as far as the database reports it. */
async function describedTypes(
  source: Source,
  sql: string,
  dialect: SqlDialect,
  uses: readonly ParameterUse[],
): Promise<ReadonlyMap<string, BoundType>> {
  const declared = uses.map(({ name, list }) =>
    list ? { name, type: 'array' as const, items: 'string' as const } : { name, type: 'string' as const },
  );
  // Each value is the name of its parameter, so that a placeholder can be traced back to it.
  const names = Object.fromEntries(uses.map(({ name, list }) => [name, list ? [name] : name]));
  const { text, types, values } = bind(parseSql(sql, dialect, declared), dialect, names);
  const { parameters } = await source.describe(text, types).catch((error: unknown) => {
    if (error instanceof AppError) return { parameters: undefined };
    throw error;
  });
  const found = new Map<string, BoundType>();
  for (const [n, type] of (parameters ?? []).entries()) {
    const value = values[n];
    const name = textOf(Array.isArray(value) ? value[0] : value);
    if (type !== null && !found.has(name)) found.set(name, type);
  }
  return found;
}

interface Known {
  readonly mention: Mention;
  readonly columns: readonly TableColumn[];
}

/** The columns of tables. Common table expressions, which no catalog lists, have none. */
const columnsOf = (source: Source, tables: readonly Mention[]): Promise<Known[]> =>
  Promise.all(
    tables.slice(0, MAX_TABLES).map(async (mention) => {
      const named = { name: mention.table, ...(mention.schema === null ? {} : { schema: mention.schema }) };
      const found = await source.columns(named, { skip: 0, limit: MAX_COLUMNS }).catch((error: unknown) => {
        if (error instanceof AppError) return { items: [] };
        throw error;
      });
      return { mention, columns: found.items };
    }),
  );

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

interface KnownColumn {
  readonly mention: Mention;
  readonly column: TableColumn;
}

function columnOf({ column }: ParameterUse, tables: readonly Known[]): KnownColumn | undefined {
  if (column === null) return undefined;
  const { of, name } = column;
  return tables
    .filter(({ mention }) => of === null || isSame(mention.alias, of) || isSame(mention.table, of))
    .flatMap(({ mention, columns }) => columns.map((candidate) => ({ mention, column: candidate })))
    .find((candidate) => isSame(candidate.column.name, name));
}
