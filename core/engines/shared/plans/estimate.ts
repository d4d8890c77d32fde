import type { QueryResult } from '#core/lib/sql/result.ts';
import type { PlanEstimate, Source } from '../source.ts';
import type { PlanNode, PlanReader } from './plan-reader.ts';

export const NO_ESTIMATE: PlanEstimate = { rows: null, cost: null };

/** `Source.estimate` of an engine whose plans `reader` reads. */
export const estimateBy =
  (
    { prefix, read, estimates = { prefix, read } }: PlanReader,
    explain: NonNullable<Source['explain']>,
  ): NonNullable<Source['estimate']> =>
  async (statement, options) => {
    const { rows }: QueryResult = await explain(statement, estimates.prefix, options);
    return estimateOf(estimates.read(rows).nodes);
  };

/** The largest step, because the last one hides a join below an aggregate. */
export function estimateOf(nodes: readonly PlanNode[]): PlanEstimate {
  const rows = rowsOf(nodes, 1).filter((count) => count !== undefined);
  const costs = nodes.flatMap(costsOf);
  return {
    rows: rows.length === 0 ? null : Math.round(Math.max(...rows)),
    cost: costs.length === 0 ? null : Math.max(...costs),
  };
}

/** @param outer the rows of the steps that the first of these runs again for. */
function rowsOf(nodes: readonly PlanNode[], outer: number): (number | undefined)[] {
  let before = outer;
  return nodes.flatMap((node) => {
    const step_rows = rowsOfStep(node);
    // Where the plan has no step for the join, the rows of its tables multiply.
    const count = step_rows === undefined ? undefined : node.multiplies === true ? before * Math.max(1, step_rows) : step_rows;
    if (count !== undefined) before = Math.max(1, count);
    // A limit ends a step that passes on each row as it comes.
    const counted = node.limited === true && node.detail === undefined ? [] : [count];
    return [...counted, ...rowsOf(node.children, 1)];
  });
}

/** The rows of a step that only wraps another one are those of the other. */
function rowsOfStep({ rows, selectivity = 1, processes = 1, children }: PlanNode): number | undefined {
  if (rows !== undefined) return rows * selectivity * processes;
  const [only, ...more] = children;
  return only === undefined || more.length > 0 ? undefined : rowsOfStep(only);
}

const costsOf = ({ cost, children }: PlanNode): number[] => [...(cost === undefined ? [] : [cost]), ...children.flatMap(costsOf)];
