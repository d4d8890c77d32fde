import { leavesOf, type Variant } from './bind.ts';
import type { ParameterType, SqlNode, Statement } from './statement.ts';

/** What is said of the uses of a statement in the order of its leaves; undefined: nothing, or the leaf is text. */
export type Reads = readonly (ParameterType | undefined)[];

/** What the database says of the placeholders of a variant, by the leaf that each stands for. */
export function readsOf({ nodes }: Statement, { pieces, names, separate }: Variant, reads: readonly ParameterType[]): Reads {
  let placeholder = 0;
  return leavesOf(nodes).map((node, leaf) => {
    if (typeof node === 'string' || (pieces[leaf] ?? -1) < 0) return undefined;
    return reads[separate ? placeholder++ : names.indexOf(node.name)];
  });
}

/** The statement with how its database reads each use; without them: as it was parsed. */
export function withReads(statement: Statement, reads: Reads = []): Statement {
  let leaf = 0;
  const read = (nodes: readonly SqlNode[]): SqlNode[] =>
    nodes.map((node) => {
      if (typeof node === 'object' && 'block' in node) return { ...node, block: read(node.block) };
      const { as, apart = 0 } = reads[leaf++] ?? {};
      if (typeof node === 'string') return node;
      const { as: _as, apart: _apart, ...plain } = node;
      return { ...plain, ...(as !== undefined && { as }), ...(apart > 0 && { apart }) };
    });
  return { ...statement, nodes: read(statement.nodes) };
}

/** How a statement's uses are read, as it was frozen. */
export const readsIn = ({ nodes }: Statement): Reads =>
  leavesOf(nodes).map((node) => {
    if (typeof node === 'string') return undefined;
    const { as, apart } = node;
    return { ...(as !== undefined && { as }), ...(apart !== undefined && { apart }) };
  });
