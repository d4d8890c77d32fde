import { createEffect, createSignal, For, on, Show } from 'solid-js';
import type { Plan } from '#core/contract/definitions/explain.ts';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Fault } from '#ui/src/components/notice.tsx';
import { CodeBlock } from '#ui/src/components/show/code-block.tsx';
import { createRunner } from '#ui/src/features/run/runner.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Statement } from '../use-statement.ts';
import './plan.css';
import { count } from '#ui/src/kernel/numbers.ts';

/** How the database would run the statement with the values of the preview. Nothing is run. */
export function PlanPane(props: { statement: Statement }) {
  const { call } = useKernel();
  const runner = createRunner((_: undefined, signal): Promise<Plan> =>
    call('preview.explain', props.statement.explained(), signal),
  );
  const [explained, setExplained] = createSignal('');
  const current = () => JSON.stringify(props.statement.explained());
  const run = () => {
    if (!props.statement.ready()) return;
    setExplained(current());
    void runner.run(undefined);
  };
  // The statement of a stored tool loads after its pane.
  createEffect(
    on(
      () => props.statement.ready() && !props.statement.writes(),
      (ready) => {
        if (ready && explained() === '') run();
      },
    ),
  );
  return (
    <div class="stack">
      <div class="row">
        <Button
          size="small"
          icon="flow"
          kind="primary"
          busy={runner.busy()}
          blocked={!props.statement.ready() || props.statement.writes()}
          onPress={run}
        >
          Explain
        </Button>
        <span class="small soft">Uses the values of the preview. The statement is not run.</span>
      </div>
      <Fault title="Plan not available" text={runner.problem()?.detail} />
      <Show
        when={runner.result()}
        fallback={
          <Show when={runner.problem() === undefined && !runner.busy()}>
            <EmptyState icon="flow" title="No plan yet">
              {props.statement.writes()
                ? 'Only read-only statements can be explained.'
                : 'Explain the statement to see which tables are scanned in full and which indexes are used.'}
            </EmptyState>
          </Show>
        }
      >
        {(plan) => (
          <>
            <Show when={explained() !== current()}>
              <p class="small faint">The statement or its values have changed since.</p>
            </Show>
            <ul class="stack plan-notes" data-gap="1" aria-label="Highlights">
              <For each={plan().highlights} fallback={<li class="soft small">No highlights.</li>}>
                {({ severity, message }) => <li data-severity={severity}>{message}</li>}
              </For>
            </ul>
            <ol class="stack plan-steps" data-gap="1" aria-label="Steps of the plan" tabindex="0">
              <For each={plan().steps}>
                {(step) => (
                  <li style={{ '--depth': String(step.depth) }} data-scan={step.scan}>
                    <span class="mono">
                      {[step.operation, step.table, step.index && `(${step.index})`].filter(Boolean).join(' ')}
                    </span>
                    <span class="num small faint">
                      {[
                        ...(step.rows === null ? [] : [`${count(step.rows)} ${step.rows === 1 ? 'row' : 'rows'}`]),
                        ...(step.cost === null ? [] : [`cost ${count(Math.round(step.cost))}`]),
                      ].join(' · ')}
                    </span>
                    <Show when={step.detail}>{(detail) => <span class="plan-detail small soft mono">{detail()}</span>}</Show>
                  </li>
                )}
              </For>
            </ol>
            <details>
              <summary class="small">Raw plan</summary>
              <CodeBlock label="Plan" code={plan().text} wrap max_height="24rem" />
            </details>
          </>
        )}
      </Show>
    </div>
  );
}
