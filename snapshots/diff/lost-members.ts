import type { FrozenPrompt, FrozenResource, FrozenTool } from '#snapshots/format/format.ts';
import { type Holds, holdsOf, ofPrompt, ofResource, ofTool, type Selectable } from '#snapshots/format/toolsets.ts';
import { keyOf, type Leaf } from '#snapshots/format/tree.ts';
import type { LeafKind } from '#core/contract/entities.ts';
import { leavesOf } from '#snapshots/format/order.ts';

type Texts = (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;
/** Leaves of a tree before and after that belong together. */
interface Pair {
  readonly was: Leaf;
  readonly is: Leaf;
}

const READ: Partial<Readonly<Record<LeafKind, (frozen: never) => Selectable>>> = {
  tool: (tool: FrozenTool) => ofTool(tool),
  resource: (resource: FrozenResource) => ofResource(resource),
  prompt: (prompt: FrozenPrompt) => ofPrompt(prompt),
};
/** Names that a sentence lists. */
const TOLD = 5;

/**
 * Why callers of toolsets may miss something, by `keyOf` what changed: a toolset with other rules that holds less, or a definition
 * that a toolset with the same rules no longer holds. What is gone altogether is not said again. Definitions that did not change are
 * looked at only for toolsets with other rules.
 * @param changed leaves that are not the same in both, each side's own.
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

function pairsOf(before: readonly Leaf[], after: readonly Leaf[], wanted: (leaf: Leaf) => boolean): Pair[] {
  const known = new Map(before.filter(wanted).map((leaf) => [keyOf(leaf), leaf]));
  return after.filter(wanted).flatMap((is) => {
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
  const [told, more] = [names.slice(0, TOLD), names.length - TOLD];
  if (more > 0) return `${told.join(', ')} and ${more} more`;
  return told.length === 1 ? told.join('') : `${told.slice(0, -1).join(', ')} and ${told.at(-1)}`;
}
