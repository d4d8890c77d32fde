import {
  asDocument,
  asNumber,
  asObject,
  asText,
  firstCell,
  type PlanNode,
  type PlanReader,
} from '../shared/plans/plan-reader.ts';
import type { Json } from '#core/lib/sql/result.ts';

/** Members that describe a step and contain no steps. */
const NO_STEP = new Set(['cost_info', 'used_columns', 'possible_keys', 'used_key_parts', 'ref', 'key_parts']);

export const MYSQL_PLANS: PlanReader = {
  prefix: 'explain format=json ',
  read(rows) {
    const { value, text } = asDocument(firstCell(rows));
    return { text, nodes: nodesIn(value) };
  },
};

/** Finds the steps: tables, and operations of MySQL or MariaDB such as `nested_loop` or `filesort`. */
function nodesIn(value: Json | undefined): Step[] {
  if (Array.isArray(value)) return value.flatMap(nodesIn);
  const members = asObject(value);
  if (members === null) return [];
  return Object.entries(members).flatMap(([name, member]): Step[] => {
    if (NO_STEP.has(name) || typeof member !== 'object' || member === null) return [];
    if (name === 'table') return [toTable(member)];
    const inside = nodesIn(member);
    if (inside.length === 0) return [];
    // The tables of a join, in order. Each one is read again for the rows of those before it, unless the join is hashed.
    const children =
      name === 'nested_loop'
        ? inside.map((node, n) => ({
            ...node,
            repeats: n > 0 && !HASHED.test(node.join ?? '') ? ('before' as const) : undefined,
            multiplies: n > 0 && !HASHED.test(node.join ?? ''),
          }))
        : inside;
    const step = asObject(member);
    const cost = asNumber(asObject(step?.['cost_info'])?.['query_cost'] ?? step?.['cost']);
    const sorts = name === 'filesort' || step?.['using_filesort'] === true || step?.['using_temporary_table'] === true;
    return [
      {
        operation: name.replaceAll('_', ' '),
        cost,
        sorts,
        join: asText(step?.['join_type']),
        detail: conditionOf(step ?? {}),
        children,
      },
    ];
  });
}

/** A hash join reads its table once. */
const HASHED = /hash|BNLH|BKAH/i;

interface Step extends PlanNode {
  /** The kind of join. MariaDB writes it around the table, MySQL inside it. */
  readonly join?: string | undefined;
}

/** The condition on the index, and the condition that drops found rows. */
const conditionOf = (step: Readonly<Record<string, Json>>): string | undefined =>
  [step['index_condition'], step['attached_condition']].flatMap((one) => asText(one) ?? []).join('; ') || undefined;

function toTable(value: Json): Step {
  const table = asObject(value) ?? {};
  const access = asText(table['access_type']) ?? 'table';
  const index = asText(table['key']);
  return {
    operation: access,
    table: asText(table['table_name']),
    index,
    rows: asNumber(table['rows_examined_per_scan'] ?? table['rows']),
    cost: asNumber(asObject(table['cost_info'])?.['prefix_cost'] ?? table['cost']),
    detail: conditionOf(table) ?? asText(table['message']),
    scan: access === 'ALL' || access === 'index' ? 'full' : index === undefined ? undefined : 'index',
    filters: table['attached_condition'] !== undefined,
    selectivity: (asNumber(table['filtered']) ?? 100) / 100,
    join: asText(table['using_join_buffer']),
    children: nodesIn(value),
  };
}
