import { For, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import type { DeployReceipt } from '#ui/src/kernel/deployment.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';

export const outcome = ({ changed, snapshot_version }: DeployReceipt): string =>
  changed ? `Version ${snapshot_version} is live` : `No change: version ${snapshot_version} stays live`;

/** What a deploy did. */
export function Receipt(props: { receipt: DeployReceipt; onDismiss: () => void }) {
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
    <section class="panel receipt" aria-label="Deploy receipt">
      <div class="receipt-head">
        <h2>
          <Icon name="check" />
          {outcome(props.receipt)}
        </h2>
        <Button kind="quiet" shape="icon" size="small" label="Dismiss the receipt" onPress={() => props.onDismiss()}>
          <Icon name="close" />
        </Button>
      </div>
      <dl class="facts">
        <div>
          <dt>Contains</dt>
          <dd>{counts()}</dd>
        </div>
        <div>
          <dt>Took</dt>
          <dd>{duration(props.receipt.duration_ms)}</dd>
        </div>
        <div>
          <dt>Checksum</dt>
          <dd class="mono" title={props.receipt.checksum}>
            {props.receipt.checksum.slice(0, 12)}
          </dd>
        </div>
      </dl>
      <Show when={props.receipt.hosts.length > 0}>
        <ul class="hosts" aria-label="Hosts">
          <For each={props.receipt.hosts}>
            {(host) => (
              <li>
                <span class="mono">{host.id}</span>
                <span class="num soft">
                  {host.acked_ms === null
                    ? 'has not answered yet; it takes the version when it is back'
                    : `${duration(host.acked_ms)} to swap`}
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <Show when={props.receipt.warnings.length > 0}>
        <Notice tone="brass" title={plural(props.receipt.warnings.length, 'warning')}>
          <ul class="bullets">
            <For each={props.receipt.warnings}>{(warning) => <li>{warning}</li>}</For>
          </ul>
        </Notice>
      </Show>
    </section>
  );
}
