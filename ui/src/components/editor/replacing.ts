import { EditorView } from '@codemirror/view';

/**
 * Text typed over a selection. Left to itself, Chromium keeps the look of what is replaced in a style attribute, which the content
 * security policy refuses and reports.
 */
export const replacing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== 'insertText' || event.data === null || view.composing) return false;
    const { from, to } = selected(view);
    if (from === to) return false;
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

/** What is selected in the page: the editor hears of a new selection only after the event. */
function selected(view: EditorView): { readonly from: number; readonly to: number } {
  const { root } = view;
  // Chromium tells what is selected inside a shadow root only to the root itself.
  const in_root =
    'getSelection' in root && typeof root.getSelection === 'function' ? (root.getSelection() as Selection | null) : null;
  const selection = in_root ?? document.getSelection();
  const { anchorNode = null, focusNode = null } = selection ?? {};
  if (selection === null || anchorNode === null || focusNode === null) return view.state.selection.main;
  if (!view.contentDOM.contains(anchorNode) || !view.contentDOM.contains(focusNode)) return view.state.selection.main;
  const anchor = view.posAtDOM(anchorNode, selection.anchorOffset);
  const head = view.posAtDOM(focusNode, selection.focusOffset);
  return { from: Math.min(anchor, head), to: Math.max(anchor, head) };
}
