import { For, Show } from 'solid-js';
import { IconButton } from '#ui/src/components/button.tsx';
import { KeyValue } from '#ui/src/components/key-value.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import type { DeployReceipt } from '#ui/src/kernel/deployment.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';
import { WORDS } from './words.ts';

const outcome = ({ changed, snapshot_version }: DeployReceipt, rehearsed: boolean): string => {
  if (rehearsed) return changed ? WORDS.would : WORDS.would_not;
  return changed ? WORDS.is_live(snapshot_version) : WORDS.stays(snapshot_version);
};

/** What a deploy did, or a dry run found. */
export function ReceiptPanel(props: { receipt: DeployReceipt; rehearsed: boolean; onDismiss: () => void }) {
  const counts = () => {
    const { connections, tools, resources, prompts } = props.receipt.counts;
    return [
      plural(tools, 'tool'),
      plural(resources, 'resource'),
      plural(prompts, 'prompt'),
      plural(connections, 'connection'),
    ].join(', ');
  };
  return (
    <Panel
      title={props.rehearsed ? WORDS.rehearsal : WORDS.receipt}
      actions={<IconButton icon="close" size="small" label={WORDS.dismiss} onPress={props.onDismiss} />}
    >
      <div class="panel-body stack">
        <Notice tone="good" live title={outcome(props.receipt, props.rehearsed)}>
          <Show when={props.rehearsed}>
            <p>{WORDS.would_text}</p>
          </Show>
        </Notice>
        <KeyValue
          items={[
            { label: WORDS.contains, value: counts() },
            { label: WORDS.took, value: <span class="num">{duration(props.receipt.duration_ms)}</span> },
            {
              label: WORDS.checksum,
              value: <span title={props.receipt.checksum}>{props.receipt.checksum.slice(0, 19)}…</span>,
              mono: true,
              copy: props.receipt.checksum,
            },
          ]}
        />
        <Show when={props.receipt.warnings.length > 0}>
          <Notice tone="brass" title={WORDS.warnings(props.receipt.warnings.length)}>
            <ul class="bullets">
              <For each={props.receipt.warnings}>{(warning) => <li>{warning}</li>}</For>
            </ul>
          </Notice>
        </Show>
        <Show when={props.receipt.hosts.length > 0}>
          <ul class="host-list" aria-label={WORDS.hosts}>
            <For each={props.receipt.hosts}>
              {(host) => (
                <li>
                  <span class="mono small">{host.id}</span>
                  <span class="small soft num">
                    {host.error ??
                      (host.acked_ms === null
                        ? WORDS.late
                        : WORDS.acked(duration(host.acked_ms), host.load_ms === null ? null : duration(host.load_ms)))}
                  </span>
                </li>
              )}
            </For>
          </ul>
        </Show>
      </div>
    </Panel>
  );
}
