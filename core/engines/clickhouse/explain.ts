import { asNumber, asText, type PlanNode, type PlanReader } from '../shared/plans/plan-reader.ts';

const STEP = /^( *)(\S.*)$/;
const READS = /^ReadFrom\w+ \(([^)]+)\)/;

/** Lines are indented by two spaces per level. With indexes, so that the plan shows how many granules they select. */
export const CLICKHOUSE_PLANS: PlanReader = {
  prefix: 'explain indexes = 1 ',
  read(rows) {
    const lines = rows.map((row) => asText(Object.values(row)[0]) ?? '');
    return { text: lines.join('\n'), nodes: nodesOf(lines) };
  },
  estimates: {
    // Only tables of the MergeTree family are listed, once each.
    prefix: 'explain estimate ',
    read: (rows) => ({
      nodes: rows.map(({ table, rows: count }) => ({
        operation: 'read',
        table: asText(table),
        rows: asNumber(count),
        children: [],
      })),
    }),
  },
};

interface Open extends Omit<PlanNode, 'children'> {
  readonly children: Open[];
}

function nodesOf(lines: readonly string[]): PlanNode[] {
  const root: Open[] = [];
  const open: { readonly depth: number; readonly node: Open }[] = [];
  for (const line of lines) {
    const [, indent = '', text = ''] = STEP.exec(line) ?? [];
    if (text === '') continue;
    while ((open.at(-1)?.depth ?? -1) >= indent.length) open.pop();
    const source = READS.exec(text)?.[1];
    const table = source?.split('.').at(-1);
    const node: Open = {
      operation: text,
      table,
      scan: table === undefined ? undefined : 'full',
      sorts: text.startsWith('Sorting'),
      children: [],
    };
    (open.at(-1)?.node.children ?? root).push(node);
    open.push({ depth: indent.length, node });
  }
  return root.map(withIndexes);
}

/** A step that reads a table lists the selected parts and granules below it. */
function withIndexes(node: PlanNode): PlanNode {
  const details = JSON.stringify(node.children);
  const scan =
    node.scan === 'full' && /Granules: (\d+)\/(\d+)/.test(details) && !/Granules: (\d+)\/\1(?!\d)/.test(details)
      ? 'index'
      : node.scan;
  return { ...node, scan, children: node.children.map(withIndexes) };
}
