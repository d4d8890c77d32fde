import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from '@codemirror/commands';
import { bracketMatching, syntaxHighlighting } from '@codemirror/language';
import { Compartment, EditorState, type Extension, Prec } from '@codemirror/state';
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers, placeholder } from '@codemirror/view';
import { LONGEST_STATEMENT } from '#core/contract/fields.ts';
import type { Dialect } from '#ui/src/features/builder/sql/scan.ts';
import { type Fault, faults, showFaults } from './faults.ts';
import { replacing } from './replacing.ts';
import { sqlLanguage, type SqlContext } from './sql-language.ts';
import { templateLanguage, type TemplateContext } from './template-language.ts';
import { highlighting, look } from './theme.ts';

export type Language =
  | { readonly name: 'sql'; readonly dialect: Dialect; readonly context: SqlContext }
  | { readonly name: 'template'; readonly context: TemplateContext };

interface EditorOptions {
  /** Open shadow root: it adopts the editor's style sheets, which a strict content security policy allows. */
  readonly root: ShadowRoot;
  readonly label: string;
  readonly text: string;
  readonly language: Language;
  readonly hint: string;
  readonly onInput: (text: string) => void;
  /** An insertion was rejected because the text would exceed the maximum length. */
  readonly onTooLong: () => void;
  readonly onRun: () => void;
  readonly onSave: () => void;
  readonly onFormat: () => void;
}

export interface Editor {
  setText(text: string): void;
  /** Replaces the selection, apart from the word before it, and moves the focus to the editor. */
  insert(text: string): void;
  setLanguage(language: Language): void;
  setFaults(list: readonly Fault[]): void;
  /** Attributes for screen readers, besides the label. */
  setAttributes(attributes: Readonly<Record<string, string>>): void;
  destroy(): void;
}

export function createEditor(options: EditorOptions): Editor {
  const language = new Compartment();
  const attributes = new Compartment();
  const press = (action: () => void) => () => {
    action();
    return true;
  };
  const view = new EditorView({
    root: options.root,
    parent: options.root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        Prec.highest(
          keymap.of([
            { key: 'Mod-Enter', run: press(options.onRun) },
            { key: 'Mod-s', run: press(options.onSave), preventDefault: true },
            { key: 'Shift-Alt-f', run: press(options.onFormat) },
            { key: 'Tab', run: acceptCompletion },
          ]),
        ),
        lineNumbers(),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ icons: false, activateOnTypingDelay: 60 }),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, indentWithTab]),
        syntaxHighlighting(highlighting),
        look,
        faults,
        replacing,
        placeholder(options.hint),
        EditorView.lineWrapping,
        EditorState.changeFilter.of(({ newDoc, startState }) => {
          const fits = newDoc.length <= LONGEST_STATEMENT || newDoc.length <= startState.doc.length;
          // The callback may change the editor, which is not allowed during a transaction.
          if (!fits) queueMicrotask(options.onTooLong);
          return fits;
        }),
        language.of(extensionOf(options.language)),
        attributes.of(EditorView.contentAttributes.of({ 'aria-label': options.label })),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onInput(update.state.doc.toString());
        }),
      ],
    }),
  });

  return {
    setText(text) {
      if (text === view.state.doc.toString()) return;
      const { head } = view.state.selection.main;
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: text },
        selection: { anchor: Math.min(head, text.length) },
        // Isolated, so that undo does not merge it with the next typing.
        annotations: isolateHistory.of('full'),
      });
    },
    insert(text) {
      const { from } = view.state.selection.main;
      const is_apart = !/[\w"'`),]/.test(view.state.sliceDoc(Math.max(0, from - 1), from));
      view.dispatch(view.state.replaceSelection(is_apart ? text : ` ${text}`), {
        scrollIntoView: true,
        userEvent: 'input.paste',
      });
      view.focus();
    },
    setLanguage: (next) => view.dispatch({ effects: language.reconfigure(extensionOf(next)) }),
    setFaults: (list) => view.dispatch({ effects: showFaults.of(list) }),
    setAttributes: (given) =>
      view.dispatch({
        effects: attributes.reconfigure(EditorView.contentAttributes.of({ 'aria-label': options.label, ...given })),
      }),
    destroy: () => view.destroy(),
  };
}

const extensionOf = (language: Language): Extension =>
  language.name === 'sql' ? sqlLanguage(language.dialect, language.context) : templateLanguage(language.context);
