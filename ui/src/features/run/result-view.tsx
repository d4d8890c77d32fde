import type { View } from '#core/contract/definitions/view.ts';
import { createSignal, type JSX, Match, Show, Switch } from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { useCopy } from '#ui/src/components/use-copy.ts';
import { toCsv } from '#core/lib/csv.ts';
import { bytes, plural } from '#ui/src/kernel/words.ts';
import { asCalled, type Result } from './result.ts';
import { ResultGrid } from './result-grid.tsx';
import './result.css';

/** Loaded when the JSON view is first opened. */
const JsonView = lazyPart(async () => (await import('#ui/src/components/show/json-view.tsx')).JsonView);
const ResultParts = lazyPart(async () => (await import('./result-parts.tsx')).ResultParts);
const DrawnResult = lazyPart(async () => (await import('./drawn-result.tsx')).DrawnResult);

interface ResultViewProps {
  /** Accessible name of the rows: `Rows`, `Sample rows of orders`. */
  label: string;
  /** Undefined: there is no result, and only the `also` views are shown. */
  result: Result | undefined;
  /** Row count and duration. The size for a model is appended. */
  summary?: string;
  /** The view definition of a tool, rendered like in clients with MCP Apps; absent: the result is not from a tool. */
  view?: View | null | undefined;
  /** The definition was changed since the run. */
  stale?: boolean;
  /** More views, such as the exchanged messages. */
  also?: readonly { readonly value: string; readonly label: string; readonly panel: () => JSX.Element }[];
}

/** The result of a run: sortable rows, JSON, and the exact content that a model receives. */
export function ResultView(props: ResultViewProps) {
  const copy = useCopy();
  const [chosen, setChosen] = createSignal<string>();
  const table = () => props.result?.table;
  const views = () => [
    ...(table() === undefined ? [] : [{ value: 'table', label: 'Table' }]),
    ...(props.view === undefined || props.view?.kind === 'none' || !props.result?.structured
      ? []
      : [{ value: 'view', label: 'View' }]),
    ...(props.result?.json === undefined ? [] : [{ value: 'json', label: 'JSON' }]),
    ...((props.result?.parts.length ?? 0) === 0 ? [] : [{ value: 'model', label: 'As the model sees it' }]),
    ...(props.also ?? []),
  ];
  const view = () => {
    const preferred = chosen() ?? (table() === undefined ? 'model' : 'table');
    return (views().find(({ value }) => value === preferred) ?? views()[0])?.value;
  };
  const summary = () => {
    const { parts = [], bytes: size = 0, tokens = 0 } = props.result ?? {};
    const cost = parts.length === 0 ? [] : [`${bytes(size)}, about ${plural(tokens, 'token')}`];
    return [...(props.summary === undefined ? [] : [props.summary]), ...cost].join(' · ');
  };
  const csv = () => {
    const { columns = [], rows = [] } = table() ?? {};
    return toCsv(
      columns,
      rows.map((row) => columns.map((column) => row[column])),
    );
  };

  return (
    <div class="result" data-stale={props.stale ? 'true' : undefined}>
      <div class="row result-bar">
        <Show when={views().length > 1}>
          <SegmentedControl label="Show the result as" value={view() ?? ''} onChange={setChosen} options={views()} />
        </Show>
        <span
          class="small soft num"
          role="status"
          title="Tokens are estimated for current models; images and audio are not counted."
        >
          {summary()}
        </span>
        <Show when={table()}>
          {(found) => (
            <Menu
              label="Copy the rows"
              icon="copy"
              size="small"
              items={[
                { label: 'Copy as CSV', onSelect: () => void copy(csv(), 'Copied.') },
                { label: 'Copy as JSON', onSelect: () => void copy(JSON.stringify(found().rows, null, 2), 'Copied.') },
              ]}
            />
          )}
        </Show>
      </div>
      <Switch fallback={props.also?.find(({ value }) => value === view())?.panel()}>
        <Match when={view() === 'table' && table()}>{(found) => <ResultGrid label={props.label} table={found()} />}</Match>
        <Match when={view() === 'view' && props.result}>
          {(result) => <DrawnResult result={asCalled(result())} view={props.view ?? null} />}
        </Match>
        <Match when={view() === 'json' && props.result}>
          {(result) => <JsonView label={`${props.label} as JSON`} value={result().json} open={3} />}
        </Match>
        <Match when={view() === 'model' && props.result}>{(result) => <ResultParts result={result()} />}</Match>
      </Switch>
    </div>
  );
}
