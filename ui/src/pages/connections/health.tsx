import { Match, Switch } from 'solid-js';
import { StatusDot } from '#ui/src/components/badge.tsx';
import type { Health } from './connection-health.ts';
import { inFields } from './words.ts';

/** Whether a connection is used at all, and whether its database answers. */
export function HealthDot(props: { enabled: boolean; health: Health | undefined }) {
  const result = () => (props.health && 'result' in props.health ? props.health.result : undefined);
  return (
    <Switch fallback={<StatusDot tone="plain" label="Checking…" pulse />}>
      <Match when={!props.enabled}>
        <StatusDot tone="plain" label="Disabled" />
      </Match>
      <Match when={props.health?.state === 'unreachable'}>
        <span title={inFields(result()?.message ?? '')}>
          <StatusDot tone="bad" label="Unreachable" />
        </span>
      </Match>
      <Match when={props.health?.state === 'unknown'}>
        <StatusDot tone="plain" label="Not tested" />
      </Match>
      <Match when={props.health?.state === 'connected'}>
        <span title={result()?.warnings.join(' ') || undefined}>
          <StatusDot
            tone={result()?.warnings.length ? 'warning' : 'good'}
            label={result()?.warnings.length ? 'Connected, with warnings' : 'Connected'}
          />
        </span>
      </Match>
    </Switch>
  );
}
