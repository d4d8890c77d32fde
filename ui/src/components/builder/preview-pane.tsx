import { Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { ArgumentForm } from './argument-form.tsx';
import { ResultView } from './result-view.tsx';
import type { Statement } from './use-statement.ts';
import { BUILDER_WORDS as WORDS } from './words.ts';

const LIMITS = ['10', '100', '1000'].map((value) => ({ value, label: `${Number(value).toLocaleString('en')} rows` }));

/** Values, a button, and what came of it. */
export function PreviewPane(props: { statement: Statement; ready: boolean }) {
  const { statement } = props;
  return (
    <div class="stack">
      <form
        class="preview-form"
        onSubmit={(event) => {
          event.preventDefault();
          void statement.run();
        }}
      >
        <Show when={statement.tried().length > 0} fallback={<p class="soft small">{WORDS.no_values}</p>}>
          <ArgumentForm
            parameters={statement.tried()}
            entered={statement.values()}
            onInput={statement.setEntered}
            error={statement.argumentError}
          />
        </Show>
        <div class="row">
          <Button type="submit" icon="play" kind="primary" size="small" busy={statement.busy()} blocked={!props.ready}>
            {statement.busy() ? WORDS.running : WORDS.run}
          </Button>
          <Show when={statement.busy()}>
            <Button size="small" onPress={() => statement.cancel()}>
              {WORDS.cancel}
            </Button>
          </Show>
          <div class="preview-limit">
            <Select
              label="Most rows of the preview"
              hide_label
              size="small"
              options={LIMITS}
              value={String(statement.limit())}
              onChange={(value: string) => statement.setLimit(Number(value))}
            />
          </div>
        </div>
      </form>
      <Show when={statement.problem()}>
        {(problem) => (
          <Notice tone="bad" live title="The statement did not run">
            <p>{problem().detail}</p>
          </Notice>
        )}
      </Show>
      <Show
        when={statement.result()}
        fallback={
          <Show when={statement.problem() === undefined && !statement.busy()}>
            <EmptyState icon="play" title={WORDS.preview_empty}>
              {WORDS.preview_lead}
            </EmptyState>
          </Show>
        }
      >
        {(result) => <ResultView result={result()} stale={statement.stale()} />}
      </Show>
    </div>
  );
}
