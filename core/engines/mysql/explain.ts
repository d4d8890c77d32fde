import {
  asDocument,
  asNumber,
  asObject,
  asText,
  firstCell,
  type PlanNode,
  type PlanReader,
} from '../shared/plans/plan-reader.ts';
import type { Json } from '../shared/source.ts';

/** Members that say how a step works and hold no step. */
const NO_STEP = new Set(['cost_info', 'used_columns', 'possible_keys', 'used_key_parts', 'ref', 'key_parts']);

export const MYSQL_PLANS: PlanReader = {
  prefix: 'explain format=json ',
  read(rows) {
    const { value, text } = asDocument(firstCell(rows));
    return { text, nodes: nodesIn(value) };
  },
};

/** Tables are steps, and so is what MySQL or MariaDB does with them, such as `nested_loop` or `filesort`. */
function nodesIn(value: Json | undefined): PlanNode[] {
  if (Array.isArray(value)) return value.flatMap(nodesIn);
  const members = asObject(value);
  if (members === null) return [];
  return Object.entries(members).flatMap(([name, member]): PlanNode[] => {
    if (NO_STEP.has(name) || typeof member !== 'object' || member === null) return [];
    if (name === 'table') return [toTable(member)];
    const children = nodesIn(member);
    if (children.length === 0) return [];
    const step = asObject(member);
    const cost = asNumber(asObject(step?.['cost_info'])?.['query_cost'] ?? step?.['cost']);
    const sorts = name === 'filesort' || step?.['using_filesort'] === true || step?.['using_temporary_table'] === true;
    return [{ operation: name.replaceAll('_', ' '), cost, sorts, children }];
  });
}

function toTable(value: Json): PlanNode {
  const table = asObject(value) ?? {};
  const access = asText(table['access_type']) ?? 'table';
  const index = asText(table['key']);
  return {
    operation: access,
    table: asText(table['table_name']),
    index,
    rows: asNumber(table['rows_examined_per_scan'] ?? table['rows']),
    cost: asNumber(asObject(table['cost_info'])?.['prefix_cost'] ?? table['cost']),
    detail: asText(table['attached_condition']) ?? asText(table['message']),
    scan: access === 'ALL' || access === 'index' ? 'full' : index === undefined ? undefined : 'index',
    children: nodesIn(value),
  };
}
