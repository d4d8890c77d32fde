import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { createSignal, For, Show } from 'solid-js';
import { INSIGHT_RULES, type InsightPeriod } from '#core/contract/observe/insight-rules.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Link, LinkButton } from '#ui/src/components/link.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import {
  behindHref,
  callHref,
  entityHref,
  evidenceOf,
  type Insight,
  ruleLabel,
  SEVERITY_TONES,
} from '#ui/src/features/insights/words.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { num } from '#ui/src/kernel/numbers.ts';

/** One finding: what happens, how often, what to do. */
export function Finding(props: {
  insight: Insight;
  period: InsightPeriod;
  /** Absent: this person cannot change it. */
  onFix?: ((insight: Insight) => void) | undefined;
  onDismiss: (insight: Insight) => void;
}) {
  const { session } = useKernel();
  const to_refusals = () => props.insight.rule === 'revoked-token';
  const behind = () =>
    session.may(to_refusals() ? 'logs.refusals' : 'logs.list') ? behindHref(props.insight, props.period) : undefined;
  const tool = () => (props.insight.entity.kind === 'tool' ? props.insight.entity.id : null);
  return (
    <li class="finding" data-severity={props.insight.severity} data-rule={props.insight.rule}>
      <div class="finding-head">
        <Badge tone={SEVERITY_TONES[props.insight.severity]} title={INSIGHT_RULES[props.insight.rule].help}>
          {ruleLabel(props.insight)}
        </Badge>
        <Show
          when={entityHref(props.insight)}
          fallback={
            <span class="mono long-name">
              <Breakable text={props.insight.entity.name} />
            </span>
          }
        >
          {(href) => (
            <Link href={href()} class="mono long-name">
              <Breakable text={props.insight.entity.name} />
            </Link>
          )}
        </Show>
        <Show when={props.insight.other}>
          {(other) => (
            <Link href={`/tools/${other().id}`} class="mono long-name">
              <Breakable text={other().name} />
            </Link>
          )}
        </Show>
        <span class="finding-evidence num faint small">
          {evidenceOf(props.insight)}
          <Show when={props.insight.evidence.last_at}>
            {(last) => (
              <>
                {', last seen '}
                <Ago iso={last()} />
              </>
            )}
          </Show>
        </span>
      </div>
      <p>
        <Breakable text={props.insight.message} />
      </p>
      <p class="soft small">{props.insight.advice}</p>
      <div class="row finding-actions">
        <Show when={props.insight.rule === 'unused-tool' && props.onFix !== undefined ? tool() : null}>
          {(id) => (
            <LinkButton href={`/tools/${id()}`} size="small" kind="primary">
              Edit description
            </LinkButton>
          )}
        </Show>
        <Show when={props.onFix !== undefined && props.insight.fix !== undefined}>
          <Button
            size="small"
            {...(props.insight.rule === 'unused-tool' ? {} : { kind: 'primary' as const })}
            onPress={() => props.onFix?.(props.insight)}
          >
            {props.insight.fix?.label}
          </Button>
        </Show>
        <Show when={behind()}>
          {(href) => (
            <LinkButton href={href()} size="small">
              {to_refusals() ? 'Show refusals' : 'Show calls'}
            </LinkButton>
          )}
        </Show>
        <Show when={session.may('logs.list') ? props.insight.calls[0] : undefined}>
          {(id) => (
            <LinkButton href={callHref(id())} size="small">
              Newest call
            </LinkButton>
          )}
        </Show>
        <Show when={props.insight.rule === 'slow-statement' ? tool() : null}>
          {(id) => (
            <LinkButton href={`/tools/${id()}?side=plan`} size="small">
              Show plan
            </LinkButton>
          )}
        </Show>
        <Button size="small" kind="quiet" onPress={() => props.onDismiss(props.insight)}>
          Dismiss
        </Button>
      </div>
    </li>
  );
}

/** As many as are read at once; the others wait below a button. */
const SHOWN = 10;

/** Findings of one severity, the most frequent first. */
export function FindingList(props: {
  label: string;
  ids: readonly string[];
  insightOf: (id: string) => Insight | undefined;
  period: InsightPeriod;
  onFix?: ((insight: Insight) => void) | undefined;
  onDismiss: (insight: Insight) => void;
}) {
  const [all, setAll] = createSignal(false);
  const shown = () => (all() ? props.ids : props.ids.slice(0, SHOWN));
  return (
    <>
      <ul aria-label={props.label}>
        <For each={shown()}>
          {(id) => (
            <Show when={props.insightOf(id)}>
              {(insight) => <Finding insight={insight()} period={props.period} onFix={props.onFix} onDismiss={props.onDismiss} />}
            </Show>
          )}
        </For>
      </ul>
      <Show when={props.ids.length > shown().length}>
        <div class="load-more" ref={passesFocus}>
          <Button size="small" onPress={() => setAll(true)}>{`Show ${num(props.ids.length - SHOWN)} more`}</Button>
        </div>
      </Show>
    </>
  );
}
