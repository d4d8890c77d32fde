import { createMemo, For, type JSX, Match, Show, Switch } from 'solid-js';
import { Dynamic } from 'solid-js/web';
import type { HistoryEntry } from '#core/contract/history.ts';
import { type Difference, differencesOf, type FieldChange, type Shown } from '#ui/src/fields/differences/differences.ts';
import type { Line, RecordKind } from '#ui/src/fields/differences/lines.ts';
import { useNames } from '#ui/src/components/show/use-names.ts';
import { SqlDiff } from './sql-diff.tsx';
import { TextDiff } from './text-diff.tsx';

/** Maximum number of records named in one sentence. */
const MOST_NAMED = 10;

type Changes = Readonly<Record<string, FieldChange>>;

/** The differences between two states of a record as sentences; multi-line texts as a line diff. */
export function FieldDiff(props: {
  changes: Changes;
  /** Kind of record; absent: the fields are those of any definition. */
  entity_type?: HistoryEntry['entity_type'];
  labels?: Readonly<Record<string, string>>;
  /** The field whose values are compared; absent: each value has its field's name. */
  of?: string;
  /** The record as a whole is new or deleted: there are no values to compare with. */
  alone?: 'added' | 'removed' | undefined;
}) {
  const differences = createMemo(() => {
    const { of } = props;
    if (of === undefined) return differencesOf(props.entity_type, props.changes, props.alone);
    const fields = Object.entries(props.changes).flatMap(([name, change]) =>
      differencesOf(props.entity_type, { [of]: change }).fields.map((field) => ({ ...field, name, label: name })),
    );
    return { fields, defaults: [] };
  });
  return (
    <>
      <Show
        when={differences().fields.length > 0}
        fallback={
          <Show when={differences().defaults.length === 0}>
            <p class="small soft">Only internal values changed.</p>
          </Show>
        }
      >
        <dl class="field-diff">
          <For each={differences().fields}>
            {(field) => <Field field={field} label={props.labels?.[field.name] ?? field.label} alone={props.alone} />}
          </For>
        </dl>
      </Show>
      <Show when={differences().defaults.length > 0}>
        <p class="small soft diff-defaults">{`At their defaults: ${differences().defaults.join(', ')}.`}</p>
      </Show>
    </>
  );
}

type Alone = 'added' | 'removed' | undefined;

function Field(props: { field: Difference; label: string; alone: Alone }) {
  const as = <K extends Shown['kind']>(kind: K) =>
    props.field.shown.kind === kind ? (props.field.shown as Extract<Shown, { kind: K }>) : undefined;
  return (
    <div>
      <dt>{props.label}</dt>
      <Switch>
        <Match when={as('pair')}>{(pair) => <Pair before={pair().before} after={pair().after} alone={props.alone} />}</Match>
        <Match when={as('connection')}>
          {(pair) => (
            <Pair
              before={<ConnectionName id={pair().before} />}
              after={<ConnectionName id={pair().after} />}
              alone={props.alone}
            />
          )}
        </Match>
        <Match when={as('text')}>
          {(text) => (
            <dd>
              <Dynamic
                component={props.field.name === 'sql_query' ? SqlDiff : TextDiff}
                before={props.alone === 'removed' ? text().after : text().before}
                after={props.alone === 'removed' ? '' : text().after}
                label={props.label}
              />
            </dd>
          )}
        </Match>
        <Match when={as('lines')}>
          {(list) => (
            <dd>
              <ul class="diff-sentences">
                <For each={list().lines}>{(line) => <Sentence line={line} alone={props.alone} label={props.label} />}</For>
              </ul>
            </dd>
          )}
        </Match>
      </Switch>
    </div>
  );
}

function Pair(props: { before: JSX.Element; after: JSX.Element; alone: Alone }) {
  return (
    <dd class="diff-pair">
      <Show
        when={props.alone === undefined}
        fallback={
          <Value value={props.after} kind={props.alone ?? 'added'} word={props.alone === 'removed' ? 'before' : 'after'} />
        }
      >
        <Value value={props.before} kind="removed" word="before" />
        <span aria-hidden="true">→</span>
        <Value value={props.after} kind="added" word="after" />
      </Show>
    </dd>
  );
}

const Value = (props: { value: JSX.Element; kind: 'removed' | 'added'; word: string }) => (
  <span class="diff-value" data-kind={props.kind}>
    <span class="visually-hidden">{props.word}: </span>
    {props.value}
  </span>
);

const MARKS = { changed: '•', removed: '−', added: '+' } as const;
const SAID = { changed: '', removed: 'removed: ', added: 'added: ' } as const;

function Sentence(props: { line: Line; alone: Alone; label: string }) {
  const kind = () => props.alone ?? props.line.kind;
  const texts = () => {
    const both = props.line.texts;
    return both && props.alone === 'removed' ? { before: both.after, after: '' } : both;
  };
  return (
    <li data-kind={kind()}>
      <span class="diff-mark" aria-hidden="true">
        {MARKS[kind()]}
      </span>
      <div>
        <span class="visually-hidden">{props.alone === undefined ? SAID[props.line.kind] : ''}</span>
        <span class="diff-words">{props.line.text}</span>
        <Show when={props.line.records}>
          {(records) => (
            <>
              {' '}
              <RecordNames kind={records().kind} ids={records().ids} />
            </>
          )}
        </Show>
        <Show when={texts()}>{(both) => <TextDiff before={both().before} after={both().after} label={props.label} />}</Show>
      </div>
    </li>
  );
}

function ConnectionName(props: { id: string | null }) {
  const names = useNames('connection');
  return <>{props.id === null ? 'none' : nameIn(names, props.id)}</>;
}

const nameIn = (names: ReturnType<typeof useNames>, id: string): string => {
  if (names.data() === undefined && names.problem() === undefined) return '…';
  return names.data()?.items.find((record) => record.id === id)?.name ?? 'not in the working copy';
};

function RecordNames(props: { kind: RecordKind; ids: readonly string[] }) {
  // The kind of a sentence never changes.
  // oxlint-disable-next-line solid/reactivity
  const names = useNames(props.kind);
  const shown = () => props.ids.slice(0, MOST_NAMED).map((id) => nameIn(names, id));
  const more = () => props.ids.length - shown().length;
  return <span class="mono small">{`${shown().join(', ')}${more() > 0 ? ` and ${more()} more` : ''}`}</span>;
}
