import { createMemo, For } from 'solid-js';
import { diffLines, foldSame, markWords } from '#core/lib/text/line-diff.ts';
import { plural } from '#ui/src/kernel/words.ts';

const MARKS = { same: ' ', removed: '−', added: '+' } as const;
const SAID = { same: '', removed: 'removed: ', added: 'added: ' } as const;

/** Two texts as one, line by line, with the words that differ marked. */
export function TextDiff(props: { before: string; after: string; label: string }) {
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
