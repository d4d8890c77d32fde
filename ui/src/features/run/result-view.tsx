import { createSignal, For, Match, Show, Switch } from 'solid-js';
import type { Preview } from '#core/contract/definitions/preview.ts';
import { CodeBlock } from '#ui/src/components/show/code-block.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { JsonView } from '#ui/src/components/show/json-view.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { plural, duration } from '#ui/src/kernel/words.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toCsv } from '#core/lib/csv.ts';
import { type Part, toResult } from './result.ts';
import { ResultGrid } from './result-grid.tsx';
import { BUILDER_WORDS as WORDS } from '#ui/src/features/builder/words.ts';

type View = 'table' | 'json' | 'model';

const affectedInWords = (rows: number): string => `${plural(rows, 'row')} affected, rolled back`;

/** What a run gave: rows to look through, as JSON, and exactly what a model would receive. */
export function ResultView(props: { result: Preview & { readonly affected_rows?: number | null }; stale: boolean }) {
  const { toasts } = useKernel();
  const [chosen, setChosen] = createSignal<View>('table');
  const views = () => [
    { value: 'table' as const, label: 'Table' },
    { value: 'json' as const, label: 'JSON' },
    ...(props.result.model === undefined ? [] : [{ value: 'model' as const, label: 'As the model sees it' }]),
  ];
  const view = () => (views().some(({ value }) => value === chosen()) ? chosen() : 'table');
  const csv = () => {
    const { columns, rows } = props.result;
    return toCsv(
      columns,
      rows.map((row) => columns.map((column) => row[column])),
    );
  };
  const copy = async (text: string) => {
    try {
      await navigator.clipboard.writeText(text);
      toasts.show('Copied.');
    } catch {
      toasts.show('The browser does not allow copying here. Select the text and copy it by hand.', 'bad');
    }
  };

  return (
    <div class="result" data-stale={props.stale ? 'true' : undefined}>
      <div class="result-bar">
        <SegmentedControl label="Show the result as" value={view()} onChange={setChosen} options={views()} />
        <span class="small soft num" role="status">
          {props.result.affected_rows === undefined
            ? plural(props.result.row_count, 'row')
            : affectedInWords(props.result.affected_rows ?? props.result.row_count)}{' '}
          · {duration(props.result.execution_time)}
        </span>
        <Menu
          label="Copy the rows"
          icon="copy"
          size="small"
          items={[
            { label: 'Copy as CSV', onSelect: () => void copy(csv()) },
            { label: 'Copy as JSON', onSelect: () => void copy(JSON.stringify(props.result.rows, null, 2)) },
          ]}
        />
      </div>
      <Show when={props.result.truncated}>
        <Notice tone="brass">{`Showing the first ${plural(props.result.row_count, 'row')}. There are more.`}</Notice>
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
          <p class="soft small">The statement returned no rows.</p>
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
        <Notice tone="bad">The model sees that the call failed.</Notice>
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
