import type { SnapshotEvent } from '#core/contract/deploy/control.ts';
import type { Loadable } from '#mcp-host/registry/load-registry.ts';
import type { SnapshotFile } from '#mcp-host/control/snapshot-file.ts';
import type { Snapshot } from '#snapshots/format/format.ts';
import { toBlobs, toTree } from '#snapshots/format/tree.ts';

/** A snapshot as the server sends it to a host that has none. */
export function newsOf({ content, ...head }: Snapshot): SnapshotEvent {
  const blobs = toBlobs(content).map(({ kind, name, hash, text }) => [kind, name, hash, text] as const);
  return { ...head, delta: { from: null, removed: [], blobs } };
}

/** Keeps a snapshot as a host that was sent it does. */
export async function keepOnDisk(file: SnapshotFile, { content, ...head }: Snapshot): Promise<void> {
  const blobs = toBlobs(content);
  const texts = new Map(blobs.map(({ hash, text }) => [hash, text]));
  await (await file.draft(head, toTree(blobs).text, texts, true)).keep();
}

/** A snapshot as a host loads it. */
export function loadableOf({ content, ...head }: Snapshot): Loadable {
  const blobs = toBlobs(content);
  const texts = new Map(blobs.map(({ hash, text }) => [hash, text]));
  return { ...head, leaves: blobs.map(({ text: _, ...leaf }) => leaf), textOf: (hash) => texts.get(hash) };
}
