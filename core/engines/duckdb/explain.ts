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

export const DUCKDB_PLANS: PlanReader = {
  prefix: 'explain (format json) ',
  read(rows) {
    const { value, text } = asDocument(firstCell(rows, 'explain_value'));
    return { text, nodes: asList(value).map(toNode) };
  },
};

/** Joins that compare every row with every other one. */
const LOOPS = /^(?:NESTED_LOOP_JOIN|BLOCKWISE_NL_JOIN|CROSS_PRODUCT)/;

function toNode(value: Json): PlanNode {
  const step = asObject(value) ?? {};
  const operation = (asText(step['name']) ?? 'step').trim();
  const extra = asObject(step['extra_info']) ?? {};
  const details = Object.entries(extra).flatMap(([name, one]) => {
    const text = Array.isArray(one) ? one.join(', ') : asText(one);
    return text === undefined || name === 'Estimated Cardinality' ? [] : [`${name}: ${text}`];
  });
  // Newer versions qualify the name with catalog and schema.
  const table = asText(extra['Table'])?.split('.').at(-1);
  const children = asList(step['children']).map(toNode);
  return {
    operation,
    table,
    rows: asNumber(extra['Estimated Cardinality']),
    detail: details.join('; ') || undefined,
    scan: table === undefined ? undefined : /Index/i.test(asText(extra['Type']) ?? '') ? 'index' : 'full',
    sorts: /ORDER|TOP_N/.test(operation),
    children: LOOPS.test(operation)
      ? children.map((child, n) => ({ ...child, repeats: n > 0 ? ('before' as const) : undefined, multiplies: n > 0 }))
      : children,
  };
}
