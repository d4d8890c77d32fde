import { type LeafKind, LEAF_KINDS } from '#core/contract/entities.ts';
import { SNAPSHOT_FORMAT, type SnapshotContent } from './format.ts';
import { canonical, hashOf, sealedHashOf } from './canonical.ts';
import { createHash } from 'node:crypto';
import { AppError } from '#core/errors.ts';

/** One frozen entity in a snapshot. Its name is unique within its kind. */
export interface Leaf {
  readonly kind: LeafKind;
  readonly name: string;
  /** SHA-256 of its canonical text as base64url; secrets of a connection or the server count by fingerprint. */
  readonly hash: string;
}

export interface Blob extends Leaf {
  /** Canonical JSON of the frozen entity. */
  readonly text: string;
}

/** Consecutive leaves. A change of one leaf leaves nearly all branches unchanged. */
export interface Branch {
  readonly leaves: readonly Leaf[];
  /** One line per leaf. */
  readonly text: string;
  /** SHA-256 of `text` as base64url. */
  readonly hash: string;
}

/** A snapshot as the sorted list of its leaves. `text` is stored on disk, and `checksum` is its root hash. */
export interface Tree {
  readonly leaves: readonly Leaf[];
  readonly branches: readonly Branch[];
  readonly text: string;
  /** `sha256:` and 64 hex digits over `text`. */
  readonly checksum: string;
}

/** The difference between two trees: leaves that are new or changed, and `keyOf` the removed ones. */
export interface Delta<L extends Leaf = Leaf> {
  readonly added: readonly L[];
  readonly removed: readonly string[];
}

const FIRST_LINE = `${SNAPSHOT_FORMAT}\n`;

const LETTER: Readonly<Record<LeafKind, string>> = {
  server: 's',
  connection: 'c',
  tool: 't',
  resource: 'r',
  prompt: 'p',
  toolset: 'o',
};

const KIND_OF = new Map(LEAF_KINDS.map((kind) => [LETTER[kind], kind]));

const HASH_LENGTH = 43;

/** Identifies a leaf within its tree. */
export const keyOf = ({ kind, name }: Pick<Leaf, 'kind' | 'name'>): string => `${LETTER[kind]}${name}`;

/** Kinds with secrets. In all other kinds, an object that looks like a sealed secret is an ordinary value. */
export const HOLDS_SECRETS: readonly LeafKind[] = ['server', 'connection'];

export function toBlob(kind: LeafKind, name: string, frozen: object): Blob {
  const text = canonical(frozen);
  return { kind, name, hash: HOLDS_SECRETS.includes(kind) ? sealedHashOf(text) : hashOf(text), text };
}

/** @param before a tree whose branches are reused where their leaves are the same. */
export function toTree(leaves: readonly Leaf[], before: Tree | null = null): Tree {
  const known = before?.branches ?? [];
  const branches = toBranches(leaves, known);
  if (areSorted(branches, new Set(known))) return joined(leaves, branches);
  const sorted = leaves.toSorted(compare);
  return joined(sorted, toBranches(sorted, known));
}

/** Throws if the text is not a tree. */
export function parseTree(text: string): Tree {
  if (!text.startsWith(FIRST_LINE) || !text.endsWith('\n')) throw unknownFormat();
  return toTree(parseBranch(text.slice(FIRST_LINE.length)));
}

/** Parses the text of one or more consecutive branches. */
export const parseBranch = (text: string): Leaf[] => text.slice(0, -1).split('\n').map(leafOf);

function joined(leaves: readonly Leaf[], branches: readonly Branch[]): Tree {
  const root = createHash('sha256').update(FIRST_LINE);
  for (const { text } of branches) root.update(text);
  return {
    leaves,
    branches,
    checksum: `sha256:${root.digest('hex')}`,
    get text() {
      return FIRST_LINE + branches.map(({ text }) => text).join('');
    },
  };
}

/**
 * A branch ends at a leaf whose hash starts with this character (one of 64). So its boundaries depend only on its leaves: the
 * same leaves give the same branches, independent of earlier trees.
 */
const LAST = 'A';

function toBranches(leaves: readonly Leaf[], before: readonly Branch[]): Branch[] {
  const known = new Map(before.map((branch) => [branch.leaves[0], branch]));
  const branches: Branch[] = [];
  for (let start = 0; start < leaves.length;) {
    const reused = known.get(leaves[start]);
    if (reused !== undefined && isBranchAt(reused.leaves, leaves, start)) {
      branches.push(reused);
      start += reused.leaves.length;
      continue;
    }
    let end = start + 1;
    while (end < leaves.length && !isLast(leaves[end - 1]!)) end++;
    branches.push(toBranch(leaves.slice(start, end)));
    start = end;
  }
  return branches;
}

const isLast = ({ hash }: Leaf): boolean => hash.startsWith(LAST);

/** Whether the list has exactly these leaves at an index and a branch boundary after them. */
function isBranchAt(leaves: readonly Leaf[], list: readonly Leaf[], start: number): boolean {
  for (let n = 0; n < leaves.length; n++) if (leaves[n] !== list[start + n]) return false;
  return isLast(leaves.at(-1)!) || start + leaves.length === list.length;
}

function toBranch(leaves: readonly Leaf[]): Branch {
  const text = leaves.map(lineOf).join('');
  let hash: string | undefined;
  return {
    leaves,
    text,
    get hash() {
      return (hash ??= createHash('sha256').update(text).digest('base64url'));
    },
  };
}

/** The leaves that only one of two sorted lists contains, by side. */
export function differing<L extends Leaf>(before: readonly Leaf[], after: readonly L[]): { old: Leaf[]; now: L[] } {
  const old: Leaf[] = [];
  const now: L[] = [];
  let n = 0;
  for (const leaf of after) {
    let same = before[n];
    // Unchanged leaves are usually the same object in both.
    if (same === leaf) {
      n++;
      continue;
    }
    for (; same !== undefined && compare(same, leaf) < 0; same = before[++n]) old.push(same);
    if (same === undefined || compare(same, leaf) !== 0) now.push(leaf);
    else {
      n++;
      if (same.hash === leaf.hash) continue;
      old.push(same);
      now.push(leaf);
    }
  }
  return { old: [...old, ...before.slice(n)], now };
}

/** Like `differing`, for two trees. Shared branches are skipped. */
export const differingIn = (before: Tree | null, after: Tree): { old: Leaf[]; now: Leaf[] } =>
  differing(...unshared(before, after));

/** Sorted leaves of the branches that the other tree does not have. */
function unshared(before: Tree | null, after: Tree): [old: Leaf[], now: Leaf[]] {
  const [was, is] = [new Set(before?.branches), new Set(after.branches)];
  const all = (branches: Iterable<Branch>) => [...branches].flatMap(({ leaves }) => leaves);
  return [all(was.difference(is)), all(is.difference(was))];
}

/** @param before null: all leaves are added. */
export const deltaBetween = (before: Tree | null, after: Tree): Delta => deltaOf(...unshared(before, after));

/** @param before null: all leaves are added. */
export function deltaOf<L extends Leaf>(before: readonly Leaf[] | null, after: readonly L[]): Delta<L> {
  const { old, now } = differing(before ?? [], after);
  const current = new Set(now.map(keyOf));
  return { added: now, removed: old.map(keyOf).filter((key) => !current.has(key)) };
}

/** Applies a delta and returns the sorted leaves. @param before sorted. */
export function applyDelta(before: readonly Leaf[], { added, removed }: Delta): Leaf[] {
  const gone = new Set(removed);
  const fresh = added.toSorted(compare);
  const after: Leaf[] = [];
  let n = 0;
  for (const leaf of before) {
    for (let next = fresh[n]; next !== undefined && compare(next, leaf) < 0; next = fresh[++n]) after.push(next);
    const next = fresh[n];
    const replaced = next !== undefined && compare(next, leaf) === 0;
    if (!replaced && (gone.size === 0 || !gone.has(keyOf(leaf)))) after.push(leaf);
  }
  return [...after, ...fresh.slice(n)];
}

/** Restores the configuration, or the part of it that the leaves name. @param textOf returns the canonical text of a hash. */
export function toContent(leaves: readonly Leaf[], textOf: (hash: string) => string | undefined): SnapshotContent {
  const parsed: Record<LeafKind, unknown[]> = { server: [], connection: [], tool: [], resource: [], prompt: [], toolset: [] };
  for (const { kind, name, hash } of leaves) {
    const text = textOf(hash);
    if (text === undefined) throw new AppError('internal', `The ${kind} ${name} of this snapshot is not stored.`);
    parsed[kind].push(JSON.parse(text));
  }
  const [server] = parsed.server;
  const { connection: connections, tool: tools, resource: resources, prompt: prompts, toolset: toolsets } = parsed;
  return { format: SNAPSHOT_FORMAT, server, connections, tools, resources, prompts, toolsets } as SnapshotContent;
}

/** Splits a configuration into blobs. */
export function toBlobs(content: Omit<SnapshotContent, 'format'>): Blob[] {
  const all = (kind: LeafKind, items: readonly { readonly name: string }[]) => items.map((item) => toBlob(kind, item.name, item));
  return [
    toBlob('server', '', content.server),
    ...all('connection', content.connections),
    ...all('tool', content.tools),
    ...all('resource', content.resources),
    ...all('prompt', content.prompts),
    ...all('toolset', content.toolsets),
  ].toSorted(compare);
}

/** Orders by kind, then by the code units of the name. */
export function compare(a: Pick<Leaf, 'kind' | 'name'>, b: Pick<Leaf, 'kind' | 'name'>): number {
  if (a.kind !== b.kind) return LEAF_KINDS.indexOf(a.kind) - LEAF_KINDS.indexOf(b.kind);
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

/** @param known branches that are known to be sorted. */
function areSorted(branches: readonly Branch[], known: ReadonlySet<Branch>): boolean {
  let last: Leaf | undefined;
  for (const branch of branches) {
    const [first] = branch.leaves;
    for (const leaf of known.has(branch) ? [first!] : branch.leaves) {
      if (last !== undefined && compare(last, leaf) > 0) return false;
      last = leaf;
    }
    last = branch.leaves.at(-1);
  }
  return true;
}

/** A letter for the kind, then the hash and the name. */
function lineOf({ kind, name, hash }: Leaf): string {
  const written = /[\n\\]/.test(name) ? name.replaceAll('\\', '\\\\').replaceAll('\n', '\\n') : name;
  return `${LETTER[kind]}${hash}${written}\n`;
}

function leafOf(line: string): Leaf {
  const kind = KIND_OF.get(line[0] ?? '');
  const hash = line.slice(1, 1 + HASH_LENGTH);
  if (kind === undefined || !/^[\w-]{43}$/.test(hash)) throw unknownFormat();
  const name = line.slice(1 + HASH_LENGTH).replaceAll(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));
  return { kind, name, hash };
}

const unknownFormat = () => new AppError('invalid', 'The snapshot has a format that this version does not read.');
