import { createMemo, For, Show } from 'solid-js';
import { diffLines, foldSame } from '#ui/src/kernel/line-diff.ts';
import { plural } from '#ui/src/kernel/words.ts';

type Changes = Readonly<Record<string, { readonly old: unknown; readonly new: unknown }>>;

/** Fields before and after; texts of several lines and structures as a diff of lines. */
export function FieldDiff(props: { changes: Changes; labels?: Readonly<Record<string, string>> }) {
  return (
    <dl class="field-diff">
      <For each={Object.entries(props.changes)}>
        {([name, change]) => (
          <div>
            <dt>{props.labels?.[name] ?? name}</dt>
            <Show
              when={isLong(change.old) || isLong(change.new)}
              fallback={
                <dd class="diff-pair">
                  <Value value={change.old} kind="removed" word="before" />
                  <span aria-hidden="true">→</span>
                  <Value value={change.new} kind="added" word="after" />
                </dd>
              }
            >
              <dd>
                <TextDiff before={toText(change.old)} after={toText(change.new)} label={props.labels?.[name] ?? name} />
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

/** Two texts as one, line by line. */
export function TextDiff(props: { before: string; after: string; label: string }) {
  const lines = createMemo(() => foldSame(diffLines(props.before, props.after)));
  return (
    <div class="text-diff" role="group" aria-label={`Changes of ${props.label}`} tabindex="0">
      <For each={lines()}>
        {(line) =>
          line.kind === 'fold' ? (
            <div class="diff-fold">{plural(line.count, 'equal line')}</div>
          ) : (
            <div class="diff-line" data-kind={line.kind}>
              <span class="diff-mark" aria-hidden="true">
                {MARKS[line.kind]}
              </span>
              <span class="visually-hidden">{SAID[line.kind]}</span>
              <code>{line.text}</code>
            </div>
          )
        }
      </For>
    </div>
  );
}

function Value(props: { value: unknown; kind: 'removed' | 'added'; word: string }) {
  return (
    <span class="diff-value" data-kind={props.kind}>
      <span class="visually-hidden">{props.word}: </span>
      <Show when={!isNothing(props.value)} fallback={<em>nothing</em>}>
        {toText(props.value)}
      </Show>
    </span>
  );
}

const isNothing = (value: unknown): boolean => value === null || value === undefined || value === '';
const toText = (value: unknown): string =>
  isNothing(value) ? '' : typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
const isLong = (value: unknown): boolean => toText(value).includes('\n') || toText(value).length > 80;
