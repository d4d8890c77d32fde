import type { SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { SERVED } from '#core/contract/entities.ts';
import type { Reviewed } from '#core/contract/proposals.ts';
import { toEntry } from '#core/records/history-entry.ts';
import type { HistoryRow } from '#core/records/history.ts';
import type { Overlay } from './overlay.ts';

const ACTIONS = { added: 'create', changed: 'update', removed: 'delete' } as const;

/** The state of a record after a proposal, whether it is served or not. */
interface Recorded {
  readonly entity_type: HistoryRow['entity_type'];
  /** The names before and after, if they differ. */
  readonly names: readonly string[];
  readonly change: keyof typeof ACTIONS;
  readonly connection_id: string | null;
  readonly values: SnapshotChange['values'];
}

/** The changes of all operations of a proposal to each record, from the history of its copy. */
export async function recordedChanges({ app }: Overlay, proposal_id: string): Promise<Recorded[]> {
  const { history } = app.store.tables;
  const rows = (await app.store.db.select().from(history)).filter(({ actor }) => actor.proposal?.id === proposal_id);
  const by_record = Map.groupBy(
    rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    ({ entity_type, entity_id }) => `${entity_type} ${entity_id}`,
  );
  return [...by_record.values()].flatMap((entries) => {
    const [first, last] = [entries[0], entries.at(-1)];
    if (first === undefined || last === undefined || (first.before === null && last.after === null)) return [];
    const change = last.after === null ? 'removed' : first.before === null ? 'added' : 'changed';
    const whole: HistoryRow = { ...last, before: first.before, after: last.after, action: ACTIONS[change] };
    const { owner_id: _, connection_id: owner, ...values } = toEntry(app, whole).changes;
    const { connection_id = null } = last.after ?? first.before ?? {};
    const moved = change === 'changed' && owner !== undefined ? { connection_id: owner } : {};
    return [
      {
        entity_type: last.entity_type,
        names: [last.entity_name, first.entity_name],
        change,
        connection_id: typeof connection_id === 'string' ? connection_id : null,
        values: { ...values, ...moved },
      },
    ];
  });
}

/** Tests are not deployed, so no snapshot diff contains them. */
export const testChanges = (recorded: readonly Recorded[]): Reviewed['test_changes'] =>
  recorded.flatMap(({ entity_type, names: [name = ''], change, values }) =>
    entity_type === 'test' ? [{ name, change, values }] : [],
  );

/** Changes that are not served, such as a connection without a tool or a disabled tool. No snapshot diff contains them. */
export function unservedChanges(recorded: readonly Recorded[], diff: readonly SnapshotChange[]): SnapshotChange[] {
  const shown = new Set(diff.map(({ entity_type, name }) => `${entity_type} ${name}`));
  return recorded.flatMap(({ names, connection_id, change, values, ...record }) => {
    const entity_type = SERVED.find((kind) => kind === record.entity_type);
    const fields = Object.keys(values);
    if (entity_type === undefined || names.some((name) => shown.has(`${entity_type} ${name}`))) return [];
    if (entity_type === 'server_config' && diff.some((one) => one.entity_type === 'server_config')) return [];
    if (change === 'changed' && fields.length === 0) return [];
    return [
      {
        entity_type,
        name: names[0] ?? '',
        connection_id,
        change,
        fields: change === 'changed' ? fields : [],
        values: change === 'removed' ? {} : values,
        risks: [],
        breaking: [],
      },
    ];
  });
}
