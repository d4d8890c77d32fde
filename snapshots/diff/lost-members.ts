import type { FrozenPrompt, FrozenResource, FrozenTool } from '#snapshots/format/format.ts';
import { type Holds, holdsOf, ofPrompt, ofResource, ofTool, type Selectable } from '#snapshots/format/toolsets.ts';
import { keyOf, type Leaf } from '#snapshots/format/tree.ts';
import type { LeafKind } from '#core/contract/entities.ts';
import { leavesOf } from '#snapshots/format/order.ts';

type Texts = (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;
/** The same entity in the trees before and after. */
interface Pair {
  readonly was: Leaf;
  readonly is: Leaf;
}

const READ: Partial<Readonly<Record<LeafKind, (frozen: never) => Selectable>>> = {
  tool: (tool: FrozenTool) => ofTool(tool),
  resource: (resource: FrozenResource) => ofResource(resource),
  prompt: (prompt: FrozenPrompt) => ofPrompt(prompt),
};
/** Maximum names in a sentence. */
const MAX_NAMED = 5;

/**
 * Explains what callers of toolsets lose, by the `keyOf` of the changed leaf: a toolset with new rules that holds less, or a
 * definition that unchanged rules no longer include. Deleted definitions are not reported here. Unchanged definitions are read
 * only if a toolset has new rules.
 * @param changed leaves that differ between both trees, by side.
 */
export async function lostMembers(
  before: readonly Leaf[],
  after: readonly Leaf[],
  changed: { readonly old: readonly Leaf[]; readonly now: readonly Leaf[] },
  texts: Texts,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const toolsets = pairsOf(leavesOf(before, 'toolset'), leavesOf(after, 'toolset'), () => true);
  if (toolsets.length === 0) return new Map();
  const [ruled, steady] = [toolsets.filter(differs), toolsets.filter((pair) => !differs(pair))];
  const isDefinition = ({ kind }: Leaf) => READ[kind] !== undefined;
  const looked = ruled.length > 0 ? pairsOf(before, after, isDefinition) : pairsOf(changed.old, changed.now, isDefinition);
  if (looked.length === 0) return new Map();
  const read = await texts([...toolsets, ...looked].flatMap(({ was, is }) => [was, is]));
  const parsed = ({ hash }: Leaf) => JSON.parse(read.get(hash) ?? 'null') as never;
  const ruleOf = (leaf: Leaf): Holds => holdsOf(parsed(leaf));
  const seen = looked.map((pair) => ({ ...pair, old: selectable(pair.was, parsed), now: selectable(pair.is, parsed) }));

  const lost = new Map<string, string[]>();
  const note = (leaf: Leaf, sentence: string) => lost.set(keyOf(leaf), [...(lost.get(keyOf(leaf)) ?? []), sentence]);
  for (const { was, is } of ruled) {
    const [held, holds] = [ruleOf(was), ruleOf(is)];
    const names = seen.filter(({ old, now }) => held(old) && !holds(now)).map(({ is: leaf }) => leaf.name);
    if (names.length > 0) note(is, `The toolset ${is.name} no longer holds ${listed(names)}.`);
  }
  for (const { is: toolset } of steady) {
    const holds = ruleOf(toolset);
    for (const { was, is, old, now } of seen) {
      if (!differs({ was, is }) || !holds(old) || holds(now)) continue;
      note(is, `This ${is.kind} is no longer in the toolset ${toolset.name}.`);
    }
  }
  return lost;
}

const differs = ({ was, is }: Pair): boolean => was.hash !== is.hash;

function pairsOf(before: readonly Leaf[], after: readonly Leaf[], isIncluded: (leaf: Leaf) => boolean): Pair[] {
  const known = new Map(before.filter(isIncluded).map((leaf) => [keyOf(leaf), leaf]));
  return after.filter(isIncluded).flatMap((is) => {
    const was = known.get(keyOf(is));
    return was === undefined ? [] : [{ was, is }];
  });
}

function selectable(leaf: Leaf, parsed: (leaf: Leaf) => never): Selectable {
  const read = READ[leaf.kind];
  if (read === undefined) throw new Error(`A toolset holds no ${leaf.kind}.`);
  return read(parsed(leaf));
}

function listed(names: readonly string[]): string {
  const [first, more] = [names.slice(0, MAX_NAMED), names.length - MAX_NAMED];
  if (more > 0) return `${first.join(', ')} and ${more} more`;
  return first.length === 1 ? first.join('') : `${first.slice(0, -1).join(', ')} and ${first.at(-1)}`;
}
