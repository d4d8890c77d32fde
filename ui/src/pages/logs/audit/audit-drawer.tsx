import { AUDIT_KIND_CHOICES } from '#core/contract/settings/audit-kinds.ts';
import { DrawerOf } from '#ui/src/components/dialog-of.tsx';
import { JsonView } from '#ui/src/components/show/json-view.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { exactTime } from '#ui/src/kernel/dates.ts';
import { actorWord, type Entry } from './audit-entries.ts';

/** One entry, with everything that its hash covers. */
export function AuditDrawer(props: { of: Entry | undefined; onClose: () => void }) {
  return (
    <DrawerOf
      of={props.of}
      title={({ seq }) => `Entry ${seq}`}
      lead="Arguments, results and values are not entered."
      onClose={props.onClose}
    >
      {(entry) => (
        <div class="stack">
          <KeyValue
            items={[
              { label: 'Kind', value: AUDIT_KIND_CHOICES[entry.kind].label },
              { label: 'Time', value: exactTime(entry.at), copy: entry.at },
              { label: 'Who', value: actorWord(entry) },
              { label: 'Type', value: entry.actor.type },
              entry.actor.id !== null && { label: 'ID', value: entry.actor.id, mono: true, copy: entry.actor.id },
              entry.tool !== undefined && { label: 'Called', value: entry.tool, mono: true },
              entry.entity !== undefined && {
                label: 'Record',
                value: `${entry.entity.type} ${entry.entity.name ?? ''}`,
                ...(entry.entity.id !== null && { copy: entry.entity.id }),
              },
              { label: 'Outcome', value: entry.outcome },
              entry.ip !== null && { label: 'Address', value: entry.ip, mono: true },
              entry.request_id !== null && { label: 'Request ID', value: entry.request_id, mono: true, copy: entry.request_id },
              { label: 'Hash', value: entry.hash, mono: true, copy: entry.hash },
              { label: 'Previous hash', value: entry.previous, mono: true, copy: entry.previous },
            ]}
          />
          <JsonView label="Details" value={entry.detail} open={3} />
        </div>
      )}
    </DrawerOf>
  );
}
