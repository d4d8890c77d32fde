import { createEffect, createSignal, onMount, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Drawer } from '#ui/src/components/dialog.tsx';
import { Fault, Notice } from '#ui/src/components/notice.tsx';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { useRetry } from '#ui/src/components/use-query.ts';
import { ArgumentForm } from '#ui/src/features/run/argument-form.tsx';
import { sampleEntries } from '#ui/src/features/run/arguments.ts';
import { ofPreview } from '#ui/src/features/run/result.ts';
import { ResultView } from '#ui/src/features/run/result-view.tsx';
import { useArguments } from '#ui/src/features/run/use-arguments.ts';
import { createQuery } from '#ui/src/kernel/data/query.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { fieldError } from '#ui/src/kernel/problem.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';

/** Runs a tool with the proposal applied, and shows its rows. */
export function TryDrawer(props: { id: string; version: number; tool_id: string; onClose: () => void }) {
  const { call } = useKernel();
  const [rows, setRows] = createSignal<Output<'proposals.try'>['preview']>(null);
  const subject = () => ({ id: props.id, version: props.version, tool_id: props.tool_id });
  const about = useRetry(createQuery((signal) => call('proposals.try', subject(), signal)));
  onMount(() => void about.reload());
  // Parameters that Sluice fills have no field.
  const fields = () => (about.data()?.parameters ?? []).filter(({ from }) => from === undefined);
  const entered = useArguments(fields);
  let begun = false;
  createEffect(() => {
    if (begun || about.data() === undefined) return;
    begun = true;
    entered.begin(sampleEntries(fields(), new Date().toISOString().slice(0, 10)));
  });
  const running = createMutation((values: Record<string, unknown>) => call('proposals.try', { ...subject(), arguments: values }));
  const run = async (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const values = entered.given(event.currentTarget);
    if (values === undefined) return;
    // Rows of earlier arguments are never shown beside a newer error.
    setRows(null);
    setRows((await running.run(values))?.preview ?? null);
  };
  const argumentError = (name: string) => entered.error(name) ?? fieldError(running.problem(), `parameters.${name}`);
  return (
    <Drawer open title={`Try ${about.data()?.name ?? 'tool'}`} size="wide" onClose={props.onClose}>
      <Loaded of={about} rows={3} label="Loading the tool">
        {(tool) => (
          <Show
            when={tool().read_only}
            fallback={
              <Notice tone="warning" title="This tool changes data">
                <p>Tools that change data can be tried in the builder after approval. Sluice rolls back what they write there.</p>
              </Notice>
            }
          >
            <div class="stack">
              <form class="stack" data-gap="3" onSubmit={(event) => void run(event)}>
                <Show when={fields().length > 0} fallback={<p class="soft small">This tool has no parameters.</p>}>
                  <ArgumentForm
                    parameters={fields()}
                    entered={entered.texts()}
                    onInput={entered.write}
                    error={argumentError}
                    described
                  />
                </Show>
                <div class="row">
                  <Button type="submit" icon="play" kind="primary" size="small" busy={running.busy()}>
                    Run
                  </Button>
                  <span class="small soft">Runs read-only, for up to 10 seconds. The proposal stays open.</span>
                </div>
              </form>
              <Fault title="The statement failed" text={running.problem()?.detail} />
              <Show when={rows()}>
                {(preview) => (
                  <>
                    <Show when={preview().truncated}>
                      <Notice tone="warning">{`Showing the first ${plural(preview().row_count, 'row')}. There are more.`}</Notice>
                    </Show>
                    <ResultView
                      label="Rows"
                      result={ofPreview(preview())}
                      summary={`${plural(preview().row_count, 'row')} · ${duration(preview().execution_time)}`}
                    />
                  </>
                )}
              </Show>
            </div>
          </Show>
        )}
      </Loaded>
    </Drawer>
  );
}
