import { percent } from '#ui/src/kernel/numbers.ts';
import { For, Show } from 'solid-js';
import { IconButton } from '#ui/src/components/button.tsx';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { countsInWords, duration, plural } from '#ui/src/kernel/words.ts';
import { Findings } from './findings.tsx';
import { OFFERED } from './totals.tsx';
import type { DeployReceipt } from './deployment.ts';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';

export const outcome = ({ changed, snapshot_version, canary }: DeployReceipt, rehearsed: boolean): string => {
  if (canary !== undefined) return `The canary is running for ${percent(canary.percent / 100)} of callers`;
  if (rehearsed) return changed ? 'A deploy would succeed' : 'A deploy would change nothing';
  return changed ? `Version ${snapshot_version} is live` : `No change: version ${snapshot_version} stays live`;
};

const swapped = (ms: number, load_ms: number | null): string =>
  `swapped in ${duration(ms)}${load_ms === null ? '' : `, ${duration(load_ms)} of it loading`}`;

/** What a deploy did, or a dry run found. */
export function Receipt(props: { receipt: DeployReceipt; rehearsed: boolean; onDismiss: () => void }) {
  const found = () => new Set(props.receipt.findings?.map(({ message }) => message));
  const others = () => props.receipt.warnings.filter((warning) => !found().has(warning));
  return (
    <Panel
      title={props.rehearsed ? 'Dry run' : 'Deploy receipt'}
      actions={<IconButton ref={passesFocus} icon="close" size="small" label="Dismiss" onPress={props.onDismiss} />}
    >
      <Notice tone="good" live title={outcome(props.receipt, props.rehearsed)}>
        <Show when={props.rehearsed}>
          <p>The databases checked the statements, and Sluice checked templates, names and limits. Nothing was changed.</p>
        </Show>
      </Notice>
      <KeyValue
        items={[
          { label: 'Contains', value: countsInWords(props.receipt.counts, OFFERED) },
          { label: 'Duration', value: <span class="num">{duration(props.receipt.duration_ms)}</span> },
          {
            label: 'Checksum',
            value: <span title={props.receipt.checksum}>{props.receipt.checksum.slice(0, 19)}…</span>,
            mono: true,
            copy: props.receipt.checksum,
          },
        ]}
      />
      <Show when={props.receipt.warnings.length > 0}>
        <Notice tone="warning" title={plural(props.receipt.warnings.length, 'warning')}>
          <Findings findings={props.receipt.findings ?? []} />
          <Bullets of={others()} />
        </Notice>
      </Show>
      <Show when={props.receipt.hosts.length > 0 && props.receipt.canary === undefined}>
        <ul class="stack host-list" data-gap="2" aria-label="Hosts">
          <For each={props.receipt.hosts}>
            {(host) => (
              <li>
                <span class="mono small">{host.id}</span>
                <span class="small soft num">
                  {host.error ??
                    (host.acked_ms === null
                      ? 'no answer yet; loads this version when it reconnects'
                      : swapped(host.acked_ms, host.load_ms))}
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </Panel>
  );
}
