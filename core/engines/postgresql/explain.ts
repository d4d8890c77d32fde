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
import type { Json } from '../shared/source.ts';

const CONDITIONS = ['Index Cond', 'Recheck Cond', 'Hash Cond', 'Merge Cond', 'Join Filter', 'Filter', 'Sort Key', 'Group Key'];

/** Without ANALYZE: the statement is planned, never run, so its rows are not in it. */
export const POSTGRESQL_PLANS: PlanReader = {
  prefix: 'explain (format json) ',
  read(rows) {
    const { value, text } = asDocument(firstCell(rows));
    return { text, nodes: asList(value).flatMap((one) => toNode(asObject(one)?.['Plan']) ?? []) };
  },
};

function toNode(value: Json | undefined): PlanNode | null {
  const plan = asObject(value);
  if (plan === null) return null;
  const operation = asText(plan['Node Type']) ?? 'Step';
  const conditions = CONDITIONS.flatMap((name) => {
    const found = plan[name];
    const said = Array.isArray(found) ? found.join(', ') : asText(found);
    return said === undefined ? [] : [`${name}: ${said}`];
  });
  return {
    operation,
    table: asText(plan['Relation Name']),
    schema: asText(plan['Schema']),
    index: asText(plan['Index Name']),
    rows: asNumber(plan['Plan Rows']),
    cost: asNumber(plan['Total Cost']),
    detail: conditions.join('; ') || undefined,
    scan: operation === 'Seq Scan' ? 'full' : /Index/.test(operation) ? 'index' : undefined,
    sorts: /Sort/.test(operation),
    children: asList(plan['Plans']).flatMap((child) => toNode(child) ?? []),
  };
}
