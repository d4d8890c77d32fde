import { createSignal, For, Match, Show, Switch } from 'solid-js';
import type { Preview } from '#core/contract/preview.ts';
import { CodeBlock } from '#ui/src/components/code-block.tsx';
import { SegmentedControl } from '#ui/src/components/choice.tsx';
import { JsonView } from '#ui/src/components/json-view.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toCsv } from '#ui/src/kernel/builder-result.ts';
import { type Part, toResult } from '#ui/src/kernel/playground-result.ts';
import { ResultGrid } from './result-grid.tsx';
import { BUILDER_WORDS as WORDS } from './words.ts';

type View = 'table' | 'json' | 'model';

/** What a run gave: rows to look through, as JSON, and exactly what a model would receive. */
export function ResultView(props: { result: Preview; stale: boolean }) {
  const { toasts } = useKernel();
  const [chosen, setChosen] = createSignal<View>('table');
  const views = () => [
    { value: 'table' as const, label: WORDS.table },
    { value: 'json' as const, label: WORDS.json },
    ...(props.result.model === undefined ? [] : [{ value: 'model' as const, label: WORDS.as_model }]),
  ];
  const view = () => (views().some(({ value }) => value === chosen()) ? chosen() : 'table');
  const copy = async (text: string) => {
    try {
      await navigator.clipboard.writeText(text);
      toasts.show(WORDS.copied);
    } catch {
      toasts.show('The browser does not allow copying here. Select the text and copy it by hand.', 'bad');
    }
  };

  return (
    <div class="result" data-stale={props.stale ? 'true' : undefined}>
      <div class="result-bar">
        <SegmentedControl label="Show the result as" value={view()} onChange={setChosen} options={views()} />
        <span class="small soft num" role="status">
          {WORDS.rows(props.result.row_count)} · {WORDS.took(props.result.execution_time)}
        </span>
        <Menu
          label="Copy the rows"
          icon="copy"
          size="small"
          items={[
            { label: WORDS.copy_csv, onSelect: () => void copy(toCsv(props.result.columns, props.result.rows)) },
            { label: WORDS.copy_json, onSelect: () => void copy(JSON.stringify(props.result.rows, null, 2)) },
          ]}
        />
      </div>
      <Show when={props.result.truncated}>
        <Notice tone="brass">{WORDS.truncated(props.result.row_count)}</Notice>
      </Show>
      <Show when={props.result.transform_error}>
        {(error) => (
          <Notice tone="bad" live title="The template failed">
            {error()}
          </Notice>
        )}
      </Show>
      <Switch>
        <Match when={view() === 'model' && props.result.model}>{(model) => <ModelResult model={model()} />}</Match>
        <Match when={view() === 'json'}>
          <JsonView label="Rows as JSON" value={props.result.rows} open={2} />
        </Match>
        <Match when={props.result.rows.length === 0}>
          <p class="soft small">{WORDS.no_rows}</p>
        </Match>
        <Match when={true}>
          <ResultGrid label="Rows" columns={props.result.columns} types={props.result.column_types} rows={props.result.rows} />
        </Match>
      </Switch>
      <Show when={view() === 'table' && props.result.transformed_result !== undefined}>
        <section class="stack-small">
          <h3>{WORDS.transformed}</h3>
          <Transformed value={props.result.transformed_result} />
        </section>
      </Show>
    </div>
  );
}

function Transformed(props: { value: unknown }) {
  return (
    <Show
      when={typeof props.value === 'string' ? props.value : undefined}
      fallback={<JsonView label={WORDS.transformed} value={props.value} open={3} />}
    >
      {(text) => <CodeBlock label={WORDS.transformed} code={text()} wrap max_height="24rem" />}
    </Show>
  );
}

function ModelResult(props: { model: Readonly<Record<string, unknown>> }) {
  const result = () => toResult(props.model);
  return (
    <div class="stack-small">
      <p class="small soft num">{WORDS.size(result().bytes, result().tokens)}</p>
      <Show when={result().is_error}>
        <Notice tone="bad">The model is told that the call failed.</Notice>
      </Show>
      <For each={result().parts}>{(part) => <PartView part={part} />}</For>
      <Show when={props.model['structuredContent']}>
        {(structured) => (
          <section class="stack-small">
            <h3>structuredContent</h3>
            <JsonView label="structuredContent" value={structured()} open={3} />
          </section>
        )}
      </Show>
    </div>
  );
}

function PartView(props: { part: Part }) {
  const address = () => `data:${props.part.mime_type};base64,${props.part.data}`;
  return (
    <Switch fallback={<CodeBlock label={`content, ${props.part.mime_type}`} code={props.part.data} wrap max_height="20rem" />}>
      <Match when={props.part.kind === 'image'}>
        <img class="result-image" src={address()} alt="The image that the statement gave" />
      </Match>
      <Match when={props.part.kind === 'audio'}>
        <p class="small soft">Audio, {props.part.mime_type}. Deploy the tool and call it to hear it.</p>
      </Match>
    </Switch>
  );
}
