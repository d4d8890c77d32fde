import { Show } from 'solid-js';
import { type DeployStatus, SERVING_CHOICES } from '#core/contract/deploy/deploy.ts';
import { Badge, type Tone } from '#ui/src/components/badge.tsx';
import type { Status } from './deployment.ts';

export const SERVING_TONES: Readonly<Record<DeployStatus, Tone>> = {
  stopped: 'plain',
  deploying: 'info',
  running: 'good',
  error: 'bad',
};

/** Whether clients are served, beside the title of a page. */
export function ServingBadge(props: { of: Pick<Status, 'status'> | undefined }) {
  return (
    <Show when={props.of?.status}>
      {(status) => (
        <Badge tone={SERVING_TONES[status()]} dot pulse={status() === 'deploying'}>
          {SERVING_CHOICES[status()].label}
        </Badge>
      )}
    </Show>
  );
}
