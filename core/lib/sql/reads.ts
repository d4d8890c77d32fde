import { leavesOf, type Variant } from './bind.ts';
import type { ParameterType, SqlNode, Statement } from './statement.ts';

/** How the database reads each leaf of a statement, in order. Undefined: it is not known, or the leaf is text. */
export type Reads = readonly (ParameterType | undefined)[];

/** Assigns the database's description of a variant's placeholders to the leaves of the statement. */
export function readsOf({ nodes }: Statement, { pieces, names, separate }: Variant, reads: readonly ParameterType[]): Reads {
  let placeholder = 0;
  return leavesOf(nodes).map((node, leaf) => {
    if (typeof node === 'string' || (pieces[leaf] ?? -1) < 0) return undefined;
    return reads[separate ? placeholder++ : names.indexOf(node.name)];
  });
}

/** The statement with the way its database reads each use. Without `reads` it is unchanged. */
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

/** The frozen way in which the uses of a statement are read. */
export const readsIn = ({ nodes }: Statement): Reads =>
  leavesOf(nodes).map((node) => {
    if (typeof node === 'string') return undefined;
    const { as, apart } = node;
    return { ...(as !== undefined && { as }), ...(apart !== undefined && { apart }) };
  });
