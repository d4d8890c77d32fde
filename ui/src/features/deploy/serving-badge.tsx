import { Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import type { Status } from './deployment.ts';
import { STATUS } from './words.ts';

/** Whether clients are served, beside the title of a page. */
export function ServingBadge(props: { of: Status | undefined }) {
  return (
    <Show when={props.of?.status}>
      {(status) => (
        <Badge tone={STATUS[status()].tone} dot pulse={status() === 'deploying'}>
          {STATUS[status()].label}
        </Badge>
      )}
    </Show>
  );
}
