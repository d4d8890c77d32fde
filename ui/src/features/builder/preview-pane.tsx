import { Show } from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import type { View } from '#core/contract/definitions/view.ts';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { CodeBlock } from '#ui/src/components/show/code-block.tsx';
import { Fault, Notice } from '#ui/src/components/notice.tsx';
import { num } from '#ui/src/kernel/numbers.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';
import { Select } from '#ui/src/components/form/select.tsx';
import { ArgumentForm } from '#ui/src/features/run/argument-form.tsx';
import { ofPreview } from '#ui/src/features/run/result.ts';
import type { Subject } from '#ui/src/features/run/show-as.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { KeepTest } from '#ui/src/features/tests/keep-test.tsx';
import { expectOf, nameFor } from '#ui/src/features/tests/kept.ts';
import type { Ran, Statement } from './use-statement.ts';

const ResultView = lazyPart(async () => (await import('#ui/src/features/run/result-view.tsx')).ResultView);
const ShowAs = lazyPart(async () => (await import('#ui/src/features/run/show-as.tsx')).ShowAs);
const JsonView = lazyPart(async () => (await import('#ui/src/components/show/json-view.tsx')).JsonView);
const LIMITS = ['10', '100', '1000'].map((value) => ({ value, label: `${num(Number(value))} rows` }));

/** Values, a button, and what came of it. */
export function PreviewPane(props: {
  statement: Statement;
  ready: boolean;
  /** How clients draw the result; absent: they do not. */
  view?: View | null | undefined;
  stored?: (Subject & { readonly name?: string }) | undefined;
}) {
  const toolsets = useQuery((read) => read('toolsets.list', { limit: 1 }));

  return (
    <div class="stack">
      <form
        class="stack"
        data-gap="3"
        onSubmit={(event) => {
          event.preventDefault();
          void props.statement.run();
        }}
      >
        <Show when={props.statement.tried().length > 0} fallback={<p class="soft small">This statement has no parameters.</p>}>
          <ArgumentForm
            parameters={props.statement.tried()}
            entered={props.statement.values()}
            onInput={(name, value) => props.statement.setEntered(name, value)}
            error={(name) => props.statement.argumentError(name)}
          />
        </Show>
        <Show when={props.statement.called() || (toolsets.data()?.total ?? 0) > 0}>
          <ShowAs
            label="Run as"
            nobody="Nobody"
            subject={props.stored}
            choice={props.statement.choice()}
            onChange={(choice) => props.statement.setChoice(choice)}
          />
        </Show>
        <div class="row">
          <Button type="submit" icon="play" kind="primary" size="small" busy={props.statement.busy()} blocked={!props.ready}>
            {props.statement.busy() ? 'Running' : props.statement.writes() ? 'Run and roll back' : 'Run'}
          </Button>
          <Show when={props.statement.busy()}>
            <Button size="small" onPress={() => props.statement.cancel()}>
              Cancel
            </Button>
          </Show>
          <div class="preview-limit">
            <Select
              label="Preview row limit"
              hide_label
              size="small"
              options={LIMITS}
              value={String(props.statement.limit())}
              onChange={(value: string) => props.statement.setLimit(Number(value))}
            />
          </div>
        </div>
      </form>
      <Show when={props.statement.writes()}>
        <p class="small soft">This statement changes data. Sluice rolls it back.</p>
      </Show>
      <Fault title="The statement failed" text={props.statement.problem()?.detail} />
      <Show
        when={props.statement.result()}
        fallback={
          <Show when={props.statement.problem() === undefined && !props.statement.busy()}>
            <EmptyState icon="play" title="Nothing has run yet">
              {`Run the statement to see ${props.statement.writes() ? 'how many rows it would change' : 'its rows'} and what a model would receive. It runs for up to 10 seconds.`}
            </EmptyState>
          </Show>
        }
      >
        {(result) => (
          <>
            <Show when={result().truncated}>
              <Notice tone="warning">{`Showing the first ${plural(result().row_count, 'row')}. There are more.`}</Notice>
            </Show>
            <Fault title="The template failed" text={result().transform_error} />
            <ResultView
              label="Rows"
              result={ofPreview(result())}
              view={props.view}
              summary={`${rowsInWords(result())} · ${duration(result().execution_time)}`}
              stale={props.statement.stale()}
            />
            <Show when={result().transformed_result !== undefined}>
              <section class="stack" data-gap="2">
                <h3>Transformed</h3>
                <Transformed value={result().transformed_result} />
              </section>
            </Show>
            <Show when={props.stored}>
              {(stored) => (
                <div class="row">
                  <KeepTest
                    about={() => ({
                      owner: { kind: stored().kind, id: stored().id },
                      name: nameFor(stored().name ?? stored().kind, props.statement.sent()),
                      arguments: props.statement.sent(),
                      caller: props.statement.caller() ?? null,
                      expect: expectOf(result()),
                    })}
                  />
                </div>
              )}
            </Show>
          </>
        )}
      </Show>
    </div>
  );
}

const rowsInWords = ({ row_count, affected_rows }: Ran): string =>
  affected_rows === undefined ? plural(row_count, 'row') : `${plural(affected_rows ?? row_count, 'row')} affected, rolled back`;

function Transformed(props: { value: unknown }) {
  return (
    <Show
      when={typeof props.value === 'string' ? props.value : undefined}
      fallback={<JsonView label="Transformed" value={props.value} open={3} />}
    >
      {(text) => <CodeBlock label="Transformed" code={text()} wrap max_height="24rem" />}
    </Show>
  );
}
