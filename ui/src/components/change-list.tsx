import { createMemo, For, Show } from 'solid-js';
import type { Change } from '#core/contract/deploy/deploy.ts';
import { FIELD_LABELS, NOUNS, sortChanges } from '#ui/src/kernel/deploy-changes.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { Badge } from './badge.tsx';
import { FieldDiff } from './field-diff.tsx';
import { Icon } from './icon.tsx';
import './change-list.css';

const TONE = { added: 'good', changed: 'water', removed: 'bad' } as const;
/** So few begin open. */
const OPEN_UP_TO = 3;

/** What differs between two configurations, entity by entity and field by field. */
export function ChangeList(props: { changes: readonly Change[]; label: string }) {
  const sorted = createMemo(() => sortChanges(props.changes));
  const opened = (change: Change) => change.breaking.length > 0 || sorted().length <= OPEN_UP_TO;
  return (
    <ul class="change-list" aria-label={props.label}>
      <For each={sorted()}>
        {(change) => (
          <li>
            <Show
              when={Object.keys(change.values).length > 0}
              fallback={
                <div class="change-head">
                  <Head change={change} />
                </div>
              }
            >
              <details open={opened(change)}>
                <summary class="change-head">
                  <Icon name="right" size={14} />
                  <Head change={change} />
                </summary>
                <FieldDiff changes={change.values} labels={FIELD_LABELS} />
              </details>
            </Show>
            <Show when={change.breaking.length > 0}>
              <ul class="change-breaking">
                <For each={change.breaking}>
                  {(sentence) => (
                    <li>
                      <Icon name="alert" size={14} />
                      {sentence}
                    </li>
                  )}
                </For>
              </ul>
            </Show>
          </li>
        )}
      </For>
    </ul>
  );
}

function Head(props: { change: Change }) {
  return (
    <>
      <span class="mono change-name">{props.change.name}</span>
      <span class="faint small">{NOUNS[props.change.entity_type]}</span>
      <span class="change-marks">
        <Show when={props.change.breaking.length > 0}>
          <Badge tone="brass">may break clients</Badge>
        </Show>
        <Show when={props.change.fields.length > 0}>
          <span class="small faint num">{plural(props.change.fields.length, 'field')}</span>
        </Show>
        <Badge tone={TONE[props.change.change]}>{props.change.change}</Badge>
      </span>
    </>
  );
}
