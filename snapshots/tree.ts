import { createHash } from 'node:crypto';
import { AppError } from '#core/errors.ts';
import { canonical, hashOf } from './canonical.ts';
import { SNAPSHOT_FORMAT, type SnapshotContent } from './format.ts';

/** What a snapshot is made of, in the order in which it is listed. */
export const KINDS = ['server', 'connection', 'tool', 'resource', 'prompt'] as const;
export type Kind = (typeof KINDS)[number];

/** One frozen entity as a snapshot lists it. Its name is its own among those of its kind. */
export interface Leaf {
  readonly kind: Kind;
  readonly name: string;
  /** SHA-256 of its canonical text as base64url; of a secret only the fingerprint counts. */
  readonly hash: string;
}

export interface Blob extends Leaf {
  /** Canonical JSON of the frozen entity. */
  readonly text: string;
}

/** A snapshot as the sorted list of its leaves. `text` is what is stored and kept on disk, `checksum` its root. */
export interface Tree {
  readonly leaves: readonly Leaf[];
  readonly text: string;
  /** `sha256:` and 64 hex digits over the text. */
  readonly checksum: string;
}

/** What leads from one tree to another: leaves that are new or have another hash, and `keyOf` those that went. */
export interface Delta<L extends Leaf = Leaf> {
  readonly added: readonly L[];
  readonly removed: readonly string[];
}

const FIRST_LINE = `${SNAPSHOT_FORMAT}\n`;
const LETTER: Readonly<Record<Kind, string>> = { server: 's', connection: 'c', tool: 't', resource: 'r', prompt: 'p' };
const KIND_OF = new Map(KINDS.map((kind) => [LETTER[kind], kind]));
const HASH_LENGTH = 43;

/** Names a leaf within its tree. */
export const keyOf = ({ kind, name }: Pick<Leaf, 'kind' | 'name'>): string => `${LETTER[kind]}${name}`;

export function toBlob(kind: Kind, name: string, frozen: object): Blob {
  const text = canonical(frozen);
  return { kind, name, hash: hashOf(text), text };
}

export function toTree(leaves: readonly Leaf[]): Tree {
  const sorted = isSorted(leaves) ? leaves : leaves.toSorted(compare);
  const text = FIRST_LINE + sorted.map(lineOf).join('');
  return { leaves: sorted, text, checksum: checksumOf(text) };
}

/** Throws when the text is not that of a tree. */
export function parseTree(text: string): Tree {
  if (!text.startsWith(FIRST_LINE) || !text.endsWith('\n')) throw unknownFormat();
  const lines = text.slice(FIRST_LINE.length, -1).split('\n');
  return { leaves: lines.map(leafOf), text, checksum: checksumOf(text) };
}

/** The leaves of two sorted lists that are not the same in both: each side's own. */
export function differing<L extends Leaf>(before: readonly Leaf[], after: readonly L[]): { old: Leaf[]; now: L[] } {
  const old: Leaf[] = [];
  const now: L[] = [];
  let n = 0;
  for (const leaf of after) {
    let same = before[n];
    // The same object stands in both, from deploy to deploy.
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

/** @param before null: everything is new. */
export function deltaOf<L extends Leaf>(before: readonly Leaf[] | null, after: readonly L[]): Delta<L> {
  const { old, now } = differing(before ?? [], after);
  const kept = new Set(now.map(keyOf));
  return { added: now, removed: old.map(keyOf).filter((key) => !kept.has(key)) };
}

/** The leaves after a delta, sorted. */
export function applyDelta(before: readonly Leaf[], { added, removed }: Delta): Leaf[] {
  const gone = new Set([...removed, ...added.map(keyOf)]);
  const rest = gone.size === 0 ? before : before.filter((leaf) => !gone.has(keyOf(leaf)));
  return [...rest, ...added].toSorted(compare);
}

/** The whole configuration again, or as much of it as the leaves name. @param textOf the canonical text of a hash. */
export function toContent(leaves: readonly Leaf[], textOf: (hash: string) => string | undefined): SnapshotContent {
  const parsed: Record<Kind, unknown[]> = { server: [], connection: [], tool: [], resource: [], prompt: [] };
  for (const { kind, name, hash } of leaves) {
    const text = textOf(hash);
    if (text === undefined) throw new AppError('internal', `The ${kind} ${name} of this snapshot is not stored.`);
    parsed[kind].push(JSON.parse(text));
  }
  const [server] = parsed.server;
  const { connection: connections, tool: tools, resource: resources, prompt: prompts } = parsed;
  return { format: SNAPSHOT_FORMAT, server, connections, tools, resources, prompts } as SnapshotContent;
}

/** A whole configuration taken apart. */
export function toBlobs(content: Omit<SnapshotContent, 'format'>): Blob[] {
  const all = (kind: Kind, items: readonly { readonly name: string }[]) => items.map((item) => toBlob(kind, item.name, item));
  return [
    toBlob('server', '', content.server),
    ...all('connection', content.connections),
    ...all('tool', content.tools),
    ...all('resource', content.resources),
    ...all('prompt', content.prompts),
  ].toSorted(compare);
}

/** By kind, then by the code units of the name. */
export function compare(a: Pick<Leaf, 'kind' | 'name'>, b: Pick<Leaf, 'kind' | 'name'>): number {
  if (a.kind !== b.kind) return KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind);
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function isSorted(leaves: readonly Leaf[]): boolean {
  for (let n = 1; n < leaves.length; n++) if (compare(leaves[n - 1]!, leaves[n]!) > 0) return false;
  return true;
}

const lines = new WeakMap<Leaf, string>();
/** A letter for the kind, the hash, the name; made once a leaf, because thousands of them stay from deploy to deploy. */
function lineOf(leaf: Leaf): string {
  const known = lines.get(leaf);
  if (known !== undefined) return known;
  const name = /[\n\\]/.test(leaf.name) ? leaf.name.replaceAll('\\', '\\\\').replaceAll('\n', '\\n') : leaf.name;
  const line = `${LETTER[leaf.kind]}${leaf.hash}${name}\n`;
  lines.set(leaf, line);
  return line;
}

function leafOf(line: string): Leaf {
  const kind = KIND_OF.get(line[0] ?? '');
  const hash = line.slice(1, 1 + HASH_LENGTH);
  if (kind === undefined || !/^[\w-]{43}$/.test(hash)) throw unknownFormat();
  const name = line.slice(1 + HASH_LENGTH).replaceAll(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));
  return { kind, name, hash };
}

const checksumOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const unknownFormat = () => new AppError('invalid', 'The snapshot has a format that this version does not read.');
