import { EditorView } from '@codemirror/view';

/**
 * Text typed over a selection. Left to itself, Chromium keeps the look of what is replaced in a style attribute, which the content
 * security policy refuses and reports.
 */
export const replacing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main;
    if (event.inputType !== 'insertText' || event.data === null || view.composing || empty) return false;
    event.preventDefault();
    const text = event.data;
    const insert = () =>
      view.state.update({
        changes: { from, to, insert: text },
        selection: { anchor: from + text.length },
        scrollIntoView: true,
        userEvent: 'input.type',
      });
    // Others, such as brackets around a selection, come first.
    const taken = view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, text, insert));
    if (!taken) view.dispatch(insert());
    return true;
  },
});
