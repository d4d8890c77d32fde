import { AppError } from '#core/errors.ts';
import type { Line } from '#core/lib/postgres/line.ts';
import { simpleQuery } from '#core/lib/postgres/messages.ts';
import { lastRow } from '#core/lib/postgres/reader.ts';
import type { Changes } from '#core/engines/shared/source.ts';
import type { Row } from '#core/lib/sql/result.ts';

/** Row counts of a session so far. Changes that an earlier transaction has not reported yet cancel out in the difference. */
interface Counted {
  readonly rows: number;
  /** Changed rows of system catalogues. TRUNCATE and DDL change these, and reset or hide the counts of rows. */
  readonly definitions: number;
}

const CHANGED = 'coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del) filter (where schemaname';
/** TOAST tables are excluded: they contain parts of rows that are already counted. */
const COUNT = `select ${CHANGED} not in ('pg_catalog', 'information_schema', 'pg_toast')), 0)::text, ${CHANGED} = 'pg_catalog'), 0)::text from pg_catalog.pg_stat_xact_all_tables`;

export async function countChanges(line: Line): Promise<Counted> {
  const found = lastRow();
  await line.exchange(simpleQuery(COUNT), 'within', { rows: found });
  const [rows, definitions] = found.cells;
  return { rows: Number(rows), definitions: Number(definitions) };
}

export function changesBetween(before: Counted, after: Counted, direct: number | null): Changes {
  const all = after.rows - before.rows;
  if (after.definitions !== before.definitions) {
    const detail =
      'The statement was rolled back: it truncates a table or changes definitions, so the rows that it changes cannot be counted.';
    throw new AppError('not_countable', detail);
  }
  if (!Number.isSafeInteger(all) || all < 0 || (direct !== null && all < direct)) {
    throw new AppError('not_countable', 'The statement was rolled back: PostgreSQL did not count every row that it changes.');
  }
  return { direct, all };
}

/** Objects whose changes this database does not count, or that a rollback does not undo. */
export const UNCOUNTED_SQL = `select
  current_setting('track_counts') as counts,
  (select count(*) from pg_catalog.pg_foreign_table) as foreign_tables,
  (select extname from pg_catalog.pg_extension where extname in ('dblink', 'pg_background', 'http') limit 1) as extension`;

export function uncounted(row: Row | undefined): string | null {
  if (row?.['counts'] !== 'on')
    return 'PostgreSQL does not count changed rows here: turn on track_counts for the server, or set confirm of this tool to never.';
  if (Number(row['foreign_tables']) > 0)
    return 'This database has foreign tables, whose changed rows are not counted. Use a database without them for this tool.';
  const { extension } = row;
  return typeof extension === 'string'
    ? `This database has the extension ${extension}, which can change what a rollback does not undo. Use a database without it for this tool.`
    : null;
}
