import { createMemo, createSignal, For, type JSX, Show } from 'solid-js';
import { diffLines, foldSame, markWords } from '#core/lib/text/line-diff.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { exactTime } from '#ui/src/kernel/dates.ts';
import { fieldName, plural } from '#ui/src/kernel/words.ts';

const CONNECTIONS_PAGE = 500;

type Change = { readonly old: unknown; readonly new: unknown };
type Changes = Readonly<Record<string, Change>>;

/** Fields before and after; texts of several lines and structures as a diff of lines. Those of `folded` open on request. */
export function FieldDiff(props: {
  changes: Changes;
  labels?: Readonly<Record<string, string>>;
  /** The field that all of them are values of; absent: each has the name of its own. */
  of?: string;
  /** All of it is new, or gone: there is nothing to compare a value with. */
  alone?: 'added' | 'removed' | undefined;
  folded?: { readonly names: readonly string[]; readonly title: string };
}) {
  const isFolded = (name: string) => props.folded?.names.includes(name) ?? false;
  const shown = createMemo(() => Object.entries(props.changes).filter(([name]) => !isFolded(name)));
  const folded = createMemo(() => Object.entries(props.changes).filter(([name]) => isFolded(name)));
  return (
    <>
      <Fields fields={shown()} of={props.of} labels={props.labels} alone={props.alone} />
      <Show when={folded().length > 0}>
        <Folded title={`${props.folded?.title ?? ''} (${folded().length})`}>
          <Fields fields={folded()} labels={props.labels} alone={props.alone} />
        </Folded>
      </Show>
    </>
  );
}

/** What is made when it is opened for the first time. */
function Folded(props: { title: string; children: JSX.Element }) {
  const [open, setOpen] = createSignal(false);
  return (
    <details class="diff-more" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="small soft">{props.title}</summary>
      <Show when={open()}>{props.children}</Show>
    </details>
  );
}

function Fields(props: {
  fields: readonly (readonly [string, Change])[];
  of?: string | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
  alone: 'added' | 'removed' | undefined;
}) {
  const label = (name: string) => fieldName(props.labels, name);
  return (
    <dl class="field-diff">
      <For each={props.fields}>
        {([name, change]) => (
          <div>
            <dt>{label(name)}</dt>
            <Show
              when={isLong(change.old) || isLong(change.new)}
              fallback={
                <dd class="diff-pair">
                  <Show when={props.alone !== 'added'}>
                    <Value name={props.of ?? name} value={change.old} kind="removed" word="before" />
                  </Show>
                  <Show when={props.alone === undefined}>
                    <span aria-hidden="true">→</span>
                  </Show>
                  <Show when={props.alone !== 'removed'}>
                    <Value name={props.of ?? name} value={change.new} kind="added" word="after" />
                  </Show>
                </dd>
              }
            >
              <dd>
                <TextDiff before={toText(change.old)} after={toText(change.new)} label={label(name)} />
              </dd>
            </Show>
          </div>
        )}
      </For>
    </dl>
  );
}

const MARKS = { same: ' ', removed: '−', added: '+' } as const;
const SAID = { same: '', removed: 'removed: ', added: 'added: ' } as const;

/** Two texts as one, line by line, with the words that differ marked. */
function TextDiff(props: { before: string; after: string; label: string }) {
  const lines = createMemo(() => {
    const all = diffLines(props.before, props.after).filter(
      // A text that was not there has no line.
      ({ kind, text }) => text !== '' || (kind === 'removed' ? props.before : props.after) !== '',
    );
    const pieces = markWords(all);
    return foldSame(all.map((line, index) => ({ ...line, pieces: pieces[index] ?? [] })));
  });
  return (
    <div class="text-diff" role="group" aria-label={`Changes of ${props.label}`} tabindex="0">
      <For each={lines()}>
        {(line) =>
          line.kind === 'fold' ? (
            <div class="diff-fold">{plural(line.count, 'unchanged line')}</div>
          ) : (
            <div class="diff-line" data-kind={line.kind}>
              <span class="diff-mark" aria-hidden="true">
                {MARKS[line.kind]}
              </span>
              <span class="visually-hidden">{SAID[line.kind]}</span>
              <code>
                <For each={line.pieces}>{(piece) => (piece.marked ? <mark>{piece.text}</mark> : piece.text)}</For>
              </code>
            </div>
          )
        }
      </For>
    </div>
  );
}

function Value(props: { name: string; value: unknown; kind: 'removed' | 'added'; word: string }) {
  const text = () => shown(props.name, props.value);
  return (
    <span class="diff-value" data-kind={props.kind}>
      <span class="visually-hidden">{props.word}: </span>
      <Show when={!isNothing(props.value)} fallback={<em>not set</em>}>
        <Show when={props.name === 'connection_id'} fallback={toText(text())}>
          <ConnectionName id={toText(text())} />
        </Show>
      </Show>
    </span>
  );
}

/** Of one that is deleted, only the id is known. */
function ConnectionName(props: { id: string }) {
  const connections = useQuery((read) => allOf((skip, limit) => read('connections.list', { skip, limit }), CONNECTIONS_PAGE));
  const name = () => connections.data()?.items.find(({ id }) => id === props.id)?.name ?? props.id;
  return <>{connections.pending() && connections.data() === undefined ? '…' : name()}</>;
}

/** A time that is stored is read in the zone of the reader. */
const shown = (name: string, value: unknown): unknown =>
  name.endsWith('_at') && typeof value === 'string' ? exactTime(value) : value;

const isNothing = (value: unknown): boolean => value === null || value === undefined || value === '';
const toText = (value: unknown): string =>
  isNothing(value) ? '' : typeof value === 'string' ? value : (JSON.stringify(inOrder(value), null, 2) ?? '');
const isLong = (value: unknown): boolean => toText(value).includes('\n') || toText(value).length > 80;

/** Members by their names: one that only stands elsewhere is no difference. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, inOrder(member)]),
  );
}
