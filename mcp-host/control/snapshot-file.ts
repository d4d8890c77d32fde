import { type Leaf, parseTree } from '#snapshots/format/tree.ts';
import { type SnapshotHead, Lacking } from './apply-news.ts';
import { rename, rm, stat, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { draftOf, syncFolder, writeFileDurable, isDraft, sweepBeside } from '#core/lib/durable-file.ts';
import { isTextOf } from '#snapshots/format/canonical.ts';
import { createHash } from 'node:crypto';

export interface KeptSnapshot extends SnapshotHead {
  readonly leaves: readonly Leaf[];
  /** The canonical text of every leaf, by hash. */
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * A host's copy of its snapshot. `<path>` contains a line with the SHA-256 of the rest, a line with the head and the names of its
 * packs, and the tree; the previous file is `<path>.previous`. A pack `<path>.<id>.pack` contains the texts that arrived with one
 * deploy, one per line, and is never changed: several hosts may share a folder. The empty file `<path>.stopped` means that the
 * server was stopped.
 */
export interface SnapshotFile {
  /** The newest intact copy; `fault` is a sentence that says why a newer one was skipped. */
  read(): Promise<{ snapshot: KeptSnapshot | null; stopped: boolean; fault: string | null }>;
  /** Texts of the current copy, except those that it lacks. */
  texts(hashes: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Writes a draft next to the current copy.
   * @param blobs texts of the tree that the copy lacks, by hash. @param whole they are the whole tree. Rejects with `Lacking`
   * when the copy has lost a text that stays in use.
   */
  draft(head: SnapshotHead, tree: string, blobs: ReadonlyMap<string, string>, whole: boolean): Promise<SnapshotDraft>;
  setStopped(stopped: boolean): Promise<void>;
}

export interface SnapshotDraft {
  /** Replaces the copy. Atomic: a crash leaves the old copy or the new one, never half of one. */
  keep(): Promise<void>;
  discard(): Promise<void>;
}

/**
 * Packs are merged from this number on, or when the later ones are larger than the first, because most of their texts are
 * superseded.
 */
const MOST_PACKS = 64;

/** Smaller packs are not worth a merge. */
const SMALL_BYTES = 1_048_576;

export function snapshotFile(path: string): SnapshotFile {
  /** Whether this process wrote the file at `path`, or found it intact. */
  let whole_copy = false;
  let packs: readonly string[] = [];
  /** Texts of drafts that could not be saved: they are written with the next draft. */
  const unsaved = new Map<string, string>();

  return {
    async read() {
      await sweep(path);
      const stopped = await exists(`${path}.stopped`);
      const faults: string[] = [];
      for (const candidate of [path, `${path}.previous`]) {
        const found = await readOne(candidate);
        if (candidate === path) whole_copy = typeof found === 'object' && found !== null;
        if (typeof found === 'string') faults.push(found);
        else if (found !== null) {
          packs = found.packs;
          return { snapshot: found.snapshot, stopped, fault: faults.join(' ') || null };
        }
      }
      return { snapshot: null, stopped, fault: faults.join(' ') || null };
    },
    async texts(hashes) {
      const requested = new Set(hashes);
      const found = new Map([...unsaved].filter(([hash]) => requested.has(hash)));
      if (found.size === requested.size) return found;
      for (const [hash, text] of await readPacks(dirname(path), packs)) if (requested.has(hash)) found.set(hash, text);
      return found;
    },
    async draft({ version, checksum, created_at }, tree, blobs, whole) {
      const id = crypto.randomUUID().slice(0, 8);
      const fresh = draftOf(path, id);
      const all = whole ? blobs : new Map([...unsaved, ...blobs]);
      const pack = `${basename(path)}.${version}-${id}.pack`;
      const discard = async () => {
        await rm(fresh, { force: true });
        await rm(join(dirname(path), pack), { force: true });
      };
      const orDiscard = async (error: unknown): Promise<never> => {
        for (const [hash, text] of all) unsaved.set(hash, text);
        await discard().catch(() => undefined);
        throw error;
      };
      const write = async (): Promise<readonly string[]> => {
        const merged = !whole && isToMerge(await packSizes(path, packs));
        const base = whole || merged ? [] : packs;
        const texts = merged ? new Map([...(await liveTexts(path, tree, packs)), ...all]) : all;
        const listed = texts.size === 0 ? base : [...base, pack];
        const body = `${JSON.stringify({ version, checksum, created_at, packs: listed })}\n${tree}`;
        const lines = [...texts].map(([hash, text]) => `${hash} ${text}\n`).join('');
        // Waits for both writes, so that no file is removed while it is still being written.
        const written = await Promise.allSettled([
          texts.size > 0 && writeFileDurable(join(dirname(path), pack), lines),
          writeFileDurable(fresh, `${digest(body)}\n${body}`),
        ]);
        for (const one of written) if (one.status === 'rejected') throw one.reason;
        return listed;
      };
      const listed = await write().catch(orDiscard);
      const replace = async () => {
        if (whole_copy || typeof (await readOne(path)) === 'object') await rename(path, `${path}.previous`).catch(ignoreMissing);
        await rename(fresh, path);
      };
      return {
        async keep() {
          await replace().catch(orDiscard);
          const replaced = listed.length < packs.length;
          [whole_copy, packs] = [true, listed];
          unsaved.clear();
          await syncFolder(path);
          if (replaced) await sweep(path);
        },
        discard,
      };
    },
    async setStopped(stopped) {
      if (!stopped && !(await exists(`${path}.stopped`))) return;
      if (stopped) await writeFileDurable(`${path}.stopped`, '');
      else await rm(`${path}.stopped`, { force: true });
      await syncFolder(path);
    },
  };
}

/** Bytes of each pack. Another host that shares the folder may have removed a pack that only this host still uses. */
function packSizes(path: string, packs: readonly string[]): Promise<number[]> {
  return Promise.all(
    packs.map(async (pack) => {
      const found = await stat(join(dirname(path), pack)).catch(() => null);
      if (found === null) throw new Lacking(`The pack ${pack} is gone.`);
      return found.size;
    }),
  );
}

function isToMerge([first = 0, ...later]: readonly number[]): boolean {
  const bytes = later.reduce((sum, size) => sum + size, 0);
  return later.length + 1 >= MOST_PACKS || bytes > Math.max(first, SMALL_BYTES);
}

/** The texts in the packs that a tree uses. */
async function liveTexts(path: string, tree: string, packs: readonly string[]): Promise<Map<string, string>> {
  const live = new Set(parseTree(tree).leaves.map(({ hash }) => hash));
  return new Map([...(await readPacks(dirname(path), packs))].filter(([hash]) => live.has(hash)));
}

/** Removes drafts and unused packs that are so old that their writer must have ended. */
async function sweep(path: string): Promise<void> {
  const named = new Set<string>();
  for (const copy of [path, `${path}.previous`]) for (const pack of (await readHead(copy))?.packs ?? []) named.add(pack);
  await sweepBeside(path, (name) => isDraft(name) || (name.endsWith('.pack') && !named.has(name)));
}

interface SnapshotOnDisk {
  readonly snapshot: KeptSnapshot;
  readonly packs: readonly string[];
}

type Head = SnapshotHead & { readonly packs?: readonly string[] };

/** The head of a copy with a matching checksum; undefined otherwise. */
async function readHead(path: string): Promise<(Head & { readonly tree: string }) | undefined> {
  const text = await readFile(path, 'utf8').catch(ignoreMissing);
  const end = text?.indexOf('\n') ?? -1;
  if (text === undefined || end < 0) return undefined;
  const body = text.slice(end + 1);
  if (digest(body) !== text.slice(0, end)) return undefined;
  const line = body.indexOf('\n');
  const [head, tree] = line < 0 ? [body, ''] : [body.slice(0, line), body.slice(line + 1)];
  return { ...(JSON.parse(head) as Head), tree };
}

/** The snapshot, null when there is no file, or a sentence when the copy is damaged. */
async function readOne(path: string): Promise<SnapshotOnDisk | null | string> {
  if (!(await exists(path))) return null;
  const head = await readHead(path);
  if (head === undefined) return `${path} is damaged: its checksum does not match.`;
  const { version, checksum, created_at, packs = [], tree } = head;
  if (tree === '') return `${path} has a format that this version does not read.`;
  const texts = await readPacks(dirname(path), packs);
  const { leaves } = parseTree(tree);
  const lost = leaves.find(({ hash }) => !texts.has(hash));
  if (lost !== undefined) return `${path} is damaged: the text of the ${lost.kind} ${lost.name} is missing.`;
  return { packs, snapshot: { version, checksum, created_at, leaves, texts } };
}

/** Texts by hash. A line whose text does not match its hash is skipped; a later line overrides an earlier one. */
async function readPacks(folder: string, packs: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const pack of packs) {
    const text = (await readFile(join(folder, basename(pack)), 'utf8').catch(ignoreMissing)) ?? '';
    for (const line of text.split('\n')) {
      const [hash, blob] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
      if (hash !== '' && isTextOf(hash, blob)) found.set(hash, blob);
    }
  }
  return found;
}

const digest = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
