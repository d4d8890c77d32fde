import { createEffect, createSignal, createUniqueId, For, on, onCleanup, onMount, Show } from 'solid-js';
import { LONGEST_STATEMENT } from '#core/contract/fields.ts';
import { useFixed } from '#ui/src/components/form/fixed.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { num } from '#ui/src/kernel/numbers.ts';
import type { Editor, Language } from './engine.ts';
import type { Fault } from './faults.ts';
import './editor.css';

export type { Language } from './engine.ts';
/** What the rest of a page does with an editor. */
export type EditorHandle = Pick<Editor, 'insert'>;
export type { Fault } from './faults.ts';

interface CodeEditorProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
  /** Called once it is loaded. */
  onReady?: (editor: EditorHandle) => void;
  language: Language;
  faults?: readonly Fault[];
  /** Error of the whole text, shown below the editor. */
  error?: string | undefined;
  hint?: string;
  placeholder?: string;
  /** Minimum height in lines. */
  lines?: number;
  onRun?: () => void;
  onSave?: () => void;
  onFormat?: () => void;
}

/**
 * A code editor that loads its engine when it is first shown. Tab indents; Escape, then Tab, leaves it. It lives in a shadow root,
 * because only there its styles need no exception from the content security policy.
 */
export function CodeEditor(props: CodeEditorProps) {
  const id = createUniqueId();
  const [ready, setReady] = createSignal(false);
  const [unloaded, setUnloaded] = createSignal(false);
  const [too_long, setTooLong] = createSignal(false);
  let host: HTMLDivElement | undefined;
  let editor: Editor | undefined;
  let gone = false;

  const faults = () => props.faults ?? [];
  const sentences = () => [
    ...new Set([
      ...(unloaded() ? ['The editor could not be loaded. You can write here without it, or reload the page.'] : []),
      ...(too_long() ? [`At most ${num(LONGEST_STATEMENT)} characters fit. What you entered last was not added.`] : []),
      ...(props.error === undefined ? [] : [props.error]),
      ...faults().map(({ message }) => message),
    ]),
  ];

  const load = async () => {
    const root = host?.attachShadow({ mode: 'open' });
    const { createEditor } = await import('./engine.ts');
    if (gone || root === undefined) return;
    editor = createEditor({
      root,
      label: props.label,
      text: props.value,
      language: props.language,
      hint: props.placeholder ?? '',
      onInput(text) {
        setTooLong(false);
        props.onInput(text);
      },
      onTooLong: () => setTooLong(true),
      onRun: () => props.onRun?.(),
      onSave: () => props.onSave?.(),
      onFormat: () => props.onFormat?.(),
    });
    setReady(true);
    props.onReady?.(editor);
  };
  const fixed = useFixed();
  onMount(() => {
    if (!fixed()) void load().catch(() => setUnloaded(true));
  });
  onCleanup(() => {
    gone = true;
    editor?.destroy();
  });

  createEffect(() => {
    const { value } = props;
    if (ready()) editor?.setText(value);
  });
  createEffect(
    on(
      () => [props.language, ready()] as const,
      ([language, is_ready]) => is_ready && editor?.setLanguage(language),
    ),
  );
  createEffect(() => {
    const list = faults();
    if (ready()) editor?.setFaults(list);
  });
  createEffect(() => {
    const broken = sentences().length > 0;
    if (!ready()) return;
    // `aria-describedby` cannot cross the shadow root, so the description is a text.
    const description = [...sentences(), 'Tab indents. Press Escape, then Tab, to leave the editor.'].join(' ');
    editor?.setAttributes({ 'aria-description': description, ...(broken ? { 'aria-invalid': 'true' } : {}) });
  });

  return (
    <div class="code-editor" data-invalid={sentences().length > 0 ? 'true' : undefined}>
      <div class="code-editor-frame" data-lines={props.lines ?? 8}>
        <Show when={!ready() && !unloaded()}>
          <pre class="code-editor-waiting" aria-busy={fixed() ? undefined : 'true'} aria-label={props.label}>
            {props.value}
          </pre>
        </Show>
        <Show when={unloaded()}>
          <textarea
            class="code-editor-plain mono"
            aria-label={props.label}
            aria-describedby={id}
            spellcheck={false}
            maxlength={LONGEST_STATEMENT}
            value={props.value}
            onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
          />
        </Show>
        <div
          class="code-editor-host"
          // Page shortcuts see only the host element as the target, so key events stop here.
          on:keydown={(event) => {
            if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
          }}
          ref={(element) => {
            host = element;
          }}
        />
      </div>
      <Show when={!fixed() && props.hint}>
        <p class="field-hint">{props.hint}</p>
      </Show>
      <div class="code-editor-faults" role="status" id={id}>
        <For each={sentences()}>
          {(sentence) => (
            <p class="field-error">
              <Icon name="alert" />
              {sentence}
            </p>
          )}
        </For>
      </div>
    </div>
  );
}
