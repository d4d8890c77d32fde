import type { SnapshotChange, Risk } from '#core/contract/deploy/deploy.ts';
import { ENTITIES, FROZEN_KINDS } from '#core/contract/entities.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { capital } from '#ui/src/kernel/words.ts';

const ORDER: readonly SnapshotChange['entity_type'][] = ['server_config', ...FROZEN_KINDS];
const KINDS: readonly SnapshotChange['change'][] = ['removed', 'changed', 'added'];

/** Those first that may break a client, then those with risks; then in the order in which one reads a configuration. */
export function sortChanges(changes: readonly SnapshotChange[]): SnapshotChange[] {
  const rank = (change: SnapshotChange) => ORDER.indexOf(change.entity_type) * KINDS.length + KINDS.indexOf(change.change);
  return changes.toSorted(
    (a, b) =>
      Number(b.breaking.length > 0) - Number(a.breaking.length > 0) ||
      Number(b.risks.length > 0) - Number(a.risks.length > 0) ||
      rank(a) - rank(b) ||
      a.name.localeCompare(b.name),
  );
}

/** `2 added, 1 changed`; an empty text when there is nothing. */
export function summary(changes: readonly SnapshotChange[]): string {
  return (['added', 'changed', 'removed'] as const)
    .map((kind) => ({ kind, count: changes.filter(({ change }) => change === kind).length }))
    .filter(({ count }) => count > 0)
    .map(({ kind, count }) => `${num(count)} ${kind}`)
    .join(', ');
}

export const breakingCount = (changes: readonly SnapshotChange[]): number =>
  changes.filter(({ breaking }) => breaking.length > 0).length;

export const RISKS: Readonly<Record<Risk, string>> = {
  deletes_rows: 'deletes rows',
  changes_rows: 'changes rows',
  superuser: 'superuser connection',
};

export interface ChangeGroup {
  readonly title: string;
  readonly changes: readonly SnapshotChange[];
}

const groupTitle = (kind: SnapshotChange['entity_type']): string =>
  kind === 'server_config' ? 'Server settings' : capital(ENTITIES[kind].plural);

/** Changes by kind and connection, in the order of `sortChanges` within each; the group with a breaking change first. */
export function groupChanges(
  changes: readonly SnapshotChange[],
  nameOf: (connection_id: string) => string | undefined,
): ChangeGroup[] {
  const groups = new Map<string, SnapshotChange[]>();
  for (const change of sortChanges(changes)) {
    const connection = change.connection_id === null ? undefined : nameOf(change.connection_id);
    const kind = groupTitle(change.entity_type);
    const title = connection === undefined ? kind : `${kind} on ${connection}`;
    const group = groups.get(title);
    if (group === undefined) groups.set(title, [change]);
    else group.push(change);
  }
  return [...groups].map(([title, members]) => ({ title, changes: members }));
}
