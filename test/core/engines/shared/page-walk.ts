import { expect } from 'bun:test';
import { engineOf } from '#core/engines/index.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Json } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { createPseudonym } from '#core/query/masks.ts';
import type { Position } from '#core/query/pages.ts';
import { planQuery, type QueryPlan, runQuery } from '#core/query/query.ts';
import { NO_CALLER } from '#core/query/values.ts';
import { parseSql } from '#core/lib/sql/parse.ts';
import { compileQuery, describeCompiled } from '#snapshots/freeze/compile.ts';
import { pageColumns } from '#snapshots/freeze/entities.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';

const FACTS = { arguments: {}, vars: {}, caller: NO_CALLER, call: { id: 'c', time: 0 } };

/** A statement whose rows have pages, as it is frozen. */
export async function planPages(
  { source, db_type }: { readonly source: Source; readonly db_type: ConnectionSettings['db_type'] },
  sql_query: string,
  page_by: readonly { column: string; desc: boolean }[],
  limits: Partial<FrozenQuery>,
): Promise<QueryPlan> {
  const { dialect } = engineOf(db_type);
  const definition = { sql_query, parameters: [], return_type: 'rows', transform_template: null } as const;
  const described = await source.describe(sql_query, []);
  const compiled = describeCompiled(await compileQuery(definition, db_type), definition, { ...described, reads: [] });
  const query: FrozenQuery = {
    connection_id: 'c',
    statement: parseSql(sql_query, dialect, []),
    mode: 'read',
    parameters: [],
    timeout_ms: 10_000,
    max_rows: 3,
    max_bytes: 1_000_000,
    transform_template: null,
    page_by: pageColumns(page_by, compiled, dialect),
    ...limits,
  };
  return planQuery(query, dialect);
}

/** The column `id` of every page, one after the other. @param between what happens before the next one. */
export async function walkPages(
  source: Source,
  plan: QueryPlan,
  between: (page: number) => Promise<unknown> = async () => {},
): Promise<Json[][]> {
  const pages: Json[][] = [];
  let after: Position | null = null;
  do {
    const { result, next } = await runQuery(
      plan,
      {},
      { source: () => source, facts: FACTS, pseudonym: createPseudonym([]), after },
    );
    expect(result.truncated).toBe(next !== null);
    pages.push(result.rows.map(({ id }) => id ?? null));
    // As it goes through a cursor.
    after = next === null ? null : (JSON.parse(JSON.stringify(next)) as Position);
    if (after !== null) await between(pages.length);
  } while (after !== null);
  return pages;
}
