import { For, Show } from 'solid-js';
import type { SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { RISKS } from './changes.ts';

/** What a change can do to rows and clients. */
export function ChangeRisks(props: { change: SnapshotChange }) {
  return (
    <>
      <For each={props.change.risks}>
        {(risk) => <Badge tone={risk === 'changes_rows' ? 'warning' : 'bad'}>{RISKS[risk]}</Badge>}
      </For>
      <Show when={props.change.breaking.length > 0}>
        <Badge tone="warning">may break clients</Badge>
      </Show>
    </>
  );
}
