import { asNumber, asText, type PlanNode, type PlanReader } from '../shared/plans/plan-reader.ts';
import type { Row } from '#core/lib/sql/result.ts';

/** Rows of a tree: id, parent and a sentence (https://www.sqlite.org/eqp.html). SQLite reports neither row counts nor costs. */
export const SQLITE_PLANS: PlanReader = {
  prefix: 'explain query plan ',
  read(rows) {
    const text = rows.map(({ detail }) => asText(detail) ?? '').join('\n');
    return {
      text,
      nodes: childrenOf(
        0,
        Map.groupBy(rows, ({ parent }) => asNumber(parent) ?? 0),
      ),
    };
  },
};

function childrenOf(id: number, by_parent: ReadonlyMap<number, readonly Row[]>): PlanNode[] {
  let tables = 0;
  return (by_parent.get(id) ?? []).map((row) => {
    const step_id = asNumber(row['id']) ?? 0;
    const step = stepOf(asText(row['detail']) ?? '');
    // The tables of a join are nested loops, in order.
    const isInside = step.table === undefined ? step.operation.startsWith('CORRELATED ') : (tables += 1) > 1;
    const repeats = isInside ? ('before' as const) : undefined;
    return { ...step, repeats, children: step_id === id ? [] : childrenOf(step_id, by_parent) };
  });
}

const ACCESS =
  /^(SCAN|SEARCH) (?:TABLE )?(\S+)(?: AS \S+)?(?: USING (AUTOMATIC )?(?:PARTIAL )?(?:COVERING )?INDEX (\S+)| USING (INTEGER PRIMARY KEY))?/;

function stepOf(detail: string): Omit<PlanNode, 'children'> {
  const [, access, table, automatic, named, key] = ACCESS.exec(detail) ?? [];
  const sorts = /TEMP B-TREE/.test(detail);
  // Constant rows, subqueries and the like are not tables.
  if (access === undefined || table === undefined || /^(?:CONSTANT|SUBQUERY)$/.test(table)) return { operation: detail, sorts };
  // The plan does not show how a table-valued function or a full-text index applies its condition.
  if (detail.includes(' VIRTUAL TABLE ')) return { operation: access, table, detail: detail.slice(access.length + 1) };
  const scan = access === 'SCAN' ? ('full' as const) : ('index' as const);
  // An automatic index exists for this statement only and has no name.
  const index = automatic === undefined ? (named ?? key?.toLowerCase()) : undefined;
  return { operation: access, table, index, detail: detail.slice(access.length + 1), scan, sorts };
}
