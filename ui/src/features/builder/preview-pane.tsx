import { Show } from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { CodeBlock } from '#ui/src/components/show/code-block.tsx';
import { Fault, Notice } from '#ui/src/components/notice.tsx';
import { num } from '#ui/src/kernel/numbers.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';
import { Select } from '#ui/src/components/form/select.tsx';
import { ArgumentForm } from '#ui/src/features/run/argument-form.tsx';
import { ofPreview } from '#ui/src/features/run/result.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { KeepTest } from './lazy-views.tsx';
import { expectOf, nameFor, wholeOf } from '#ui/src/features/tests/expectation.ts';
import type { StatementDraft } from './statement-draft.ts';
import type { Ran } from './use-statement.ts';
import { wayOut } from './way-out.tsx';

const ResultView = lazyPart(async () => (await import('#ui/src/features/run/result-view.tsx')).ResultView);
const ShowAs = lazyPart(async () => (await import('#ui/src/features/run/show-as.tsx')).ShowAs);
const JsonView = lazyPart(async () => (await import('#ui/src/components/show/json-view.tsx')).JsonView);
const LIMITS = ['10', '100', '1000'].map((value) => ({ value, label: `${num(Number(value))} rows` }));

/** The arguments of a run, and its result. */
export function PreviewPane(props: { draft: StatementDraft }) {
  const toolsets = useQuery((read) => read('toolsets.list', { limit: 1 }));
  const statement = () => props.draft.statement;
  const stored = () => {
    const record = props.draft.stored();
    return record && { kind: props.draft.kind, id: record.id, name: record.name };
  };

  return (
    <div class="stack">
      <form
        class="stack"
        data-gap="3"
        onSubmit={(event) => {
          event.preventDefault();
          void statement().run();
        }}
      >
        <Show when={statement().tried().length > 0} fallback={<p class="soft small">This statement has no parameters.</p>}>
          <ArgumentForm
            parameters={statement().tried()}
            entered={statement().values()}
            onInput={(name, value) => statement().setEntered(name, value)}
            error={(name) => statement().argumentError(name)}
          />
        </Show>
        <Show when={statement().called() || (toolsets.data()?.total ?? 0) > 0}>
          <ShowAs
            label="Run as"
            nobody="No caller"
            subject={stored()}
            choice={statement().choice()}
            onChange={(choice) => statement().setChoice(choice)}
          />
        </Show>
        <div class="row">
          <Button type="submit" icon="play" kind="primary" size="small" busy={statement().busy()} blocked={!statement().ready()}>
            {statement().busy() ? 'Running' : statement().writes() ? 'Run and roll back' : 'Run'}
          </Button>
          <Show when={statement().busy()}>
            <Button size="small" onPress={() => statement().cancel()}>
              Cancel
            </Button>
          </Show>
          <div class="preview-limit">
            <Select
              label="Preview row limit"
              hide_label
              size="small"
              options={LIMITS}
              value={String(statement().limit())}
              onChange={(value: string) => statement().setLimit(Number(value))}
            />
          </div>
        </div>
      </form>
      <Show when={statement().writes()}>
        <p class="small soft">This statement changes data. Sluice rolls it back.</p>
      </Show>
      <Fault
        title="The statement failed"
        text={statement().problem()?.detail}
        action={wayOut(props.draft, statement().problem(), () => void statement().run(true))}
      />
      <Show
        when={statement().result()}
        fallback={
          <Show when={statement().problem() === undefined && !statement().busy()}>
            <EmptyState icon="play" title="Nothing has run yet">
              {`Run the statement to see ${statement().writes() ? 'how many rows it would change' : 'its rows'} and what a model would receive. It runs for up to 10 seconds.`}
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
              view={props.draft.form.values.view}
              summary={`${rowsInWords(result())} · ${duration(result().execution_time)}`}
              stale={statement().stale()}
            />
            <Show when={result().transformed_result !== undefined}>
              <section class="stack" data-gap="2">
                <h3>Transformed</h3>
                <Transformed value={result().transformed_result} />
              </section>
            </Show>
            <Show when={stored()}>
              {(record) => (
                <div class="row">
                  <KeepTest
                    about={() => ({
                      owner: { kind: record().kind, id: record().id },
                      name: nameFor(record().name, statement().sent()),
                      arguments: statement().sent(),
                      caller: statement().caller() ?? null,
                      expect: expectOf(result()),
                      ...wholeOf(result()),
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
