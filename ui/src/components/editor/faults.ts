import { StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView } from '@codemirror/view';

/** Something wrong, with the offsets of the text that is. */
export interface Fault {
  readonly start: number;
  readonly end: number;
  readonly message: string;
}

export const showFaults = StateEffect.define<readonly Fault[]>();

/** Underlined text that says what is wrong with it when it is pointed at; the sentence itself stands below the editor. */
export const faults = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    let decorations = shown.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(showFaults)) decorations = decorated(effect.value, transaction.newDoc.length);
    }
    return decorations;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function decorated(list: readonly Fault[], length: number): DecorationSet {
  const marks = list.flatMap(({ start, end, message }) => {
    const to = Math.min(Math.max(end, start + 1), length);
    const from = Math.max(0, Math.min(start, to - 1));
    if (to <= from) return [];
    return [Decoration.mark({ class: 'cm-fault', attributes: { title: message } }).range(from, to)];
  });
  return Decoration.set(marks, true);
}
