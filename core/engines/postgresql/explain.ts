import {
  asDocument,
  asList,
  asNumber,
  asObject,
  asText,
  firstCell,
  type PlanNode,
  type PlanReader,
} from '../shared/plans/plan-reader.ts';
import type { Json } from '#core/lib/sql/result.ts';

const CONDITIONS = [
  'Index Cond',
  'Recheck Cond',
  'Hash Cond',
  'Merge Cond',
  'Join Filter',
  'Order By',
  'Filter',
  'Sort Key',
  'Group Key',
];

/** Without ANALYZE the statement is planned but never run, so the plan has no actual row counts. */
export const POSTGRESQL_PLANS: PlanReader = {
  prefix: 'explain (format json) ',
  read(rows) {
    const { value, text } = asDocument(firstCell(rows));
    return { text, nodes: asList(value).flatMap((one) => toNode(asObject(one)?.['Plan']) ?? []) };
  },
};

/** Steps that return rows as they arrive. */
const PASSES_ON = new Set(['Limit', 'Result', 'ProjectSet', 'Append', 'Merge Append', 'Subquery Scan', 'LockRows']);

/** @param above whether a limit ends the step that reads these rows. */
function toNode(value: Json | undefined, above: Above = { limited: false, filter: '' }): PlanNode | null {
  const plan = asObject(value);
  if (plan === null) return null;
  const operation = asText(plan['Node Type']) ?? 'Step';
  const conditions = CONDITIONS.flatMap((name) => {
    const found = plan[name];
    const text = Array.isArray(found) ? found.join(', ') : asText(found);
    return text === undefined ? [] : [`${name}: ${text}`];
  });
  const filter = asText(plan['Filter']) ?? '';
  const relationship = asText(plan['Parent Relationship']);
  const subplan = asText(plan['Subplan Name']);
  // A hashed subplan runs once.
  const isSubplan = relationship === 'SubPlan' && subplan !== undefined && !above.filter.includes(`hashed ${subplan}`);
  const limited = above.limited && filter === '';
  const workers = asNumber(plan['Workers Planned']);
  const inside: Above = {
    limited: operation === 'Limit' || (limited && PASSES_ON.has(operation)),
    filter,
    processes: workers === undefined ? above.processes : processesOf(workers),
  };
  return {
    operation,
    table: asText(plan['Relation Name']),
    schema: asText(plan['Schema']),
    index: asText(plan['Index Name']),
    rows: asNumber(plan['Plan Rows']),
    processes: plan['Parallel Aware'] === true ? above.processes : undefined,
    cost: asNumber(plan['Total Cost']),
    detail: conditions.join('; ') || undefined,
    scan: scanOf(operation, plan),
    filters: filter !== '',
    limited,
    repeats: isSubplan ? 'above' : relationship === 'Inner' && above.loops === true ? 'before' : undefined,
    sorts: /Sort/.test(operation),
    children: asList(plan['Plans']).flatMap((child) => toNode(child, { ...inside, loops: operation === 'Nested Loop' }) ?? []),
  };
}

interface Above {
  readonly limited: boolean;
  readonly filter: string;
  readonly loops?: boolean;
  /** Processes that share the rows of a step below a Gather step. */
  readonly processes?: number | undefined;
}

/** The leader helps less the more workers it collects from (`get_parallel_divisor` of PostgreSQL). */
const processesOf = (workers: number): number => workers + Math.max(0, 1 - 0.3 * workers);

/** Without a condition the whole index is read, for its order or because it is smaller than the table. */
function scanOf(operation: string, plan: Readonly<Record<string, Json>>): PlanNode['scan'] {
  if (operation === 'Seq Scan') return 'full';
  if (!operation.includes('Index')) return undefined;
  return plan['Index Cond'] === undefined && plan['Order By'] === undefined ? 'full' : 'index';
}
