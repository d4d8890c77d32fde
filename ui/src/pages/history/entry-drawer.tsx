import { plural } from '#ui/src/kernel/words.ts';
import { For, Show } from 'solid-js';
import { type HistoryEntry, RECORD_CHOICES } from '#core/contract/history.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Drawer } from '#ui/src/components/dialog.tsx';
import { FieldDiff } from '#ui/src/components/show/field-diff.tsx';
import { JsonView } from '#ui/src/components/show/json-view.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { actionWord, recordName, typeWord } from '#ui/src/kernel/record-words.ts';
import { blockedOf, byOf, type HistoryAction, recordHref, whyNot } from './history-log.ts';
import { exactTime } from '#ui/src/kernel/dates.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** What came into being or went has nothing to be compared with. */
const ALONE: Readonly<Partial<Record<string, 'added' | 'removed'>>> = { create: 'added', delete: 'removed' };

/** One change: who, what, every field before and after, and the way back. */
export function EntryDrawer(props: {
  action: HistoryAction | undefined;
  onClose: () => void;
  onOnly: (entry: HistoryEntry) => void;
  onRollback: (action: HistoryAction) => void;
}) {
  const { session } = useKernel();
  return (
    <Drawer
      open={props.action !== undefined}
      title={(props.action && recordName(props.action.main)) || 'Details'}
      size="wide"
      onClose={props.onClose}
      foot={
        <Show when={props.action}>
          {(action) => (
            <Show
              when={whyNot(action(), session.may)}
              fallback={
                <Button icon="history" needs="history.rollback" onPress={() => props.onRollback(action())}>
                  Roll back…
                </Button>
              }
            >
              {(reason) => <p class="small soft">{reason()}</p>}
            </Show>
          )}
        </Show>
      }
    >
      <Show when={props.action}>{(action) => <Details action={action()} onOnly={props.onOnly} />}</Show>
    </Drawer>
  );
}

function Details(props: { action: HistoryAction; onOnly: (entry: HistoryEntry) => void }) {
  const main = () => props.action.main;
  const blocked = () => blockedOf(main());
  return (
    <div class="stack">
      <KeyValue
        items={[
          { label: 'Details', value: `${RECORD_CHOICES[main().entity_type].label}, ${actionWord(main().action)}` },
          { label: 'By', value: byOf(main().actor) },
          { label: 'At', value: exactTime(main().created_at) },
          main().ip !== null && { label: 'From', value: main().ip, mono: true },
          main().version_after !== null && {
            label: 'Version',
            value: <span class="num">{`${main().version_before ?? '–'} → ${main().version_after ?? '–'}`}</span>,
          },
        ]}
      />
      <div class="row">
        <Show when={main().actor.proposal}>
          {(proposal) => (
            <LinkButton href={`/proposals/${proposal().id}`} size="small" icon="message">
              Open proposal
            </LinkButton>
          )}
        </Show>
        <Show when={recordHref(main())}>
          {(href) => (
            <LinkButton href={href()} size="small" icon="external">
              Open
            </LinkButton>
          )}
        </Show>
        <Show when={main().entity_id !== ''}>
          <Button size="small" icon="filter" onPress={() => props.onOnly(main())}>
            Only this record
          </Button>
        </Show>
      </div>
      <Show when={blocked()}>
        {(refusal) => (
          <Notice tone="bad" title="This change was blocked">
            <p>{refusal().why}</p>
            <p class="small">{refusal().advice}</p>
            <KeyValue
              items={[
                refusal().fields.length > 0 && { label: 'Fields', value: refusal().fields.join(', '), mono: true },
                refusal().rules.length > 0 && { label: 'Rules', value: refusal().rules.join(', '), mono: true },
                refusal().count > 1 && { label: '', value: `${plural(refusal().count, 'time')} within a minute` },
              ]}
            />
          </Notice>
        )}
      </Show>
      <Show when={props.action.others.length > 0}>
        <section>
          <h3 class="history-sub">Changed together</h3>
          <ul class="stack history-batch" data-gap="1">
            <For each={[main(), ...props.action.others]}>
              {(entry) => (
                <li>
                  <span class="mono small">{recordName(entry)}</span>
                  <span class="small faint">{typeWord(entry.entity_type)}</span>
                  <Badge>{actionWord(entry.action)}</Badge>
                </li>
              )}
            </For>
          </ul>
        </section>
      </Show>
      <Show when={blocked() === undefined}>
        <section>
          <h3 class="history-sub">Fields</h3>
          <Show when={Object.keys(main().changes).length > 0} fallback={<p class="soft small">No fields changed.</p>}>
            <FieldDiff changes={main().changes} entity_type={main().entity_type} alone={ALONE[main().action]} />
          </Show>
        </section>
        <Show when={main().snapshot}>
          {(record) => (
            <details>
              <summary class="history-sub">
                {main().action === 'delete' ? 'Record before it was deleted' : 'Record after the change'}
              </summary>
              <JsonView value={record()} label="Record after the change" open={1} />
            </details>
          )}
        </Show>
      </Show>
    </div>
  );
}
