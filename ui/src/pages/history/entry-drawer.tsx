import { For, Show } from 'solid-js';
import type { HistoryEntry } from '#core/contract/history.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Drawer } from '#ui/src/components/dialog.tsx';
import { FieldDiff } from '#ui/src/components/field-diff.tsx';
import { JsonView } from '#ui/src/components/json-view.tsx';
import { KeyValue } from '#ui/src/components/key-value.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { FIELD_LABELS } from '#ui/src/kernel/deploy-changes.ts';
import { ACTION_WORDS, blockedOf, type Deed, placeOf, TYPE_WORDS, whyNot } from '#ui/src/kernel/history-log.ts';
import { WORDS } from './words.ts';

/** One change: who, what, every field before and after, and the way back. */
export function EntryDrawer(props: {
  deed: Deed | undefined;
  onClose: () => void;
  onOnly: (entry: HistoryEntry) => void;
  onRollback: (deed: Deed) => void;
}) {
  return (
    <Drawer
      open={props.deed !== undefined}
      title={props.deed?.main.entity_name || WORDS.details}
      size="wide"
      onClose={props.onClose}
      foot={
        <Show when={props.deed}>
          {(deed) => (
            <Show
              when={whyNot(deed().main)}
              fallback={
                <Button icon="history" onPress={() => props.onRollback(deed())}>
                  {WORDS.undo}
                </Button>
              }
            >
              {(reason) => <p class="small soft">{reason()}</p>}
            </Show>
          )}
        </Show>
      }
    >
      <Show when={props.deed}>{(deed) => <Details deed={deed()} onOnly={props.onOnly} />}</Show>
    </Drawer>
  );
}

function Details(props: { deed: Deed; onOnly: (entry: HistoryEntry) => void }) {
  const main = () => props.deed.main;
  const blocked = () => blockedOf(main());
  return (
    <div class="stack">
      <KeyValue
        items={[
          { label: WORDS.details, value: `${TYPE_WORDS[main().entity_type]}, ${ACTION_WORDS[main().action]}` },
          { label: WORDS.by, value: main().actor.name },
          { label: WORDS.at, value: new Date(main().created_at).toLocaleString() },
          main().ip !== null && { label: WORDS.from, value: main().ip, mono: true },
          main().version_after !== null && {
            label: WORDS.version,
            value: <span class="num">{WORDS.versions(main().version_before, main().version_after)}</span>,
          },
        ]}
      />
      <div class="row">
        <Show when={placeOf(main())}>
          {(href) => (
            <LinkButton href={href()} size="small" icon="external">
              {WORDS.open_record}
            </LinkButton>
          )}
        </Show>
        <Show when={main().entity_id !== ''}>
          <Button size="small" icon="filter" onPress={() => props.onOnly(main())}>
            {WORDS.only_record}
          </Button>
        </Show>
      </div>
      <Show when={blocked()}>
        {(refusal) => (
          <Notice tone="bad" title={WORDS.blocked_title}>
            <p>{refusal().why}</p>
            <p class="small">{refusal().advice}</p>
            <KeyValue
              items={[
                refusal().fields.length > 0 && { label: WORDS.blocked_fields, value: refusal().fields.join(', '), mono: true },
                refusal().rules.length > 0 && { label: WORDS.blocked_rules, value: refusal().rules.join(', '), mono: true },
                refusal().count > 1 && { label: '', value: WORDS.blocked_times(refusal().count) },
              ]}
            />
          </Notice>
        )}
      </Show>
      <Show when={props.deed.others.length > 0}>
        <section>
          <h3 class="history-sub">{WORDS.batch}</h3>
          <ul class="history-batch">
            <For each={[main(), ...props.deed.others]}>
              {(entry) => (
                <li>
                  <span class="mono small">{entry.entity_name}</span>
                  <span class="small faint">{TYPE_WORDS[entry.entity_type]}</span>
                  <Badge>{ACTION_WORDS[entry.action]}</Badge>
                </li>
              )}
            </For>
          </ul>
        </section>
      </Show>
      <Show when={blocked() === undefined}>
        <section>
          <h3 class="history-sub">{WORDS.changes}</h3>
          <Show when={Object.keys(main().changes).length > 0} fallback={<p class="soft small">{WORDS.no_fields}</p>}>
            <FieldDiff changes={main().changes} labels={FIELD_LABELS} />
          </Show>
        </section>
        <Show when={main().snapshot}>
          {(record) => (
            <details>
              <summary class="history-sub">{main().action === 'delete' ? WORDS.record_deleted : WORDS.record}</summary>
              <JsonView value={record()} label={WORDS.record} open={1} />
            </details>
          )}
        </Show>
      </Show>
    </div>
  );
}
