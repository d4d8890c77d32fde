import { createSignal, createUniqueId, For } from 'solid-js';
import { nearest } from '#ui/src/components/form/nearest.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { describedBy, FieldFrame, type FieldWords } from './field.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';

const MOST_SUGGESTED = 50;

/** A few short words: Enter or a comma adds, Backspace removes the last. */
export function TagsField(
  props: FieldWords & {
    value: readonly string[];
    onChange: (value: string[]) => void;
    suggestions?: readonly string[];
    placeholder?: string | undefined;
  },
) {
  const { presence } = useKernel();
  const id = createUniqueId();
  const [typed, setTyped] = createSignal('');
  /** What is shown until the pointer is released: a new line of tags would move what it presses. */
  const [held, setHeld] = createSignal<readonly string[]>();
  const shown = () => held() ?? props.value;
  const suggested = () =>
    nearest(
      (props.suggestions ?? []).filter((tag) => !props.value.includes(tag)),
      (tag) => tag,
      typed(),
      MOST_SUGGESTED,
    );
  const add = (text: string) => {
    const tags = text
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== '');
    setTyped('');
    if (tags.length > 0) props.onChange([...new Set([...props.value, ...tags])]);
  };
  const leave = () => {
    if (typed().trim() === '' || !presence.pressed()) {
      add(typed());
      return;
    }
    const text = typed();
    setHeld(props.value);
    add(text);
    setTyped(text);
    void presence.released().then(() => {
      setHeld(undefined);
      setTyped('');
    });
  };
  const remove = (tag: string) => props.onChange(props.value.filter((other) => other !== tag));
  return (
    <FieldFrame {...props} id={id}>
      <div class="input tags-input">
        <For each={shown()}>
          {(tag) => (
            <span class="tag" ref={passesFocus}>
              {tag}
              <button type="button" aria-label={`Remove ${tag}`} disabled={props.blocked === true} onClick={() => remove(tag)}>
                <Icon name="close" size={10} />
              </button>
            </span>
          )}
        </For>
        <input
          id={id}
          type="text"
          list={`${id}-list`}
          autocomplete="off"
          autocapitalize="none"
          placeholder={shown().length === 0 ? props.placeholder : undefined}
          value={typed()}
          readOnly={props.blocked}
          aria-invalid={props.error ? 'true' : undefined}
          aria-describedby={describedBy(id, props)}
          onInput={(event) => {
            const text = event.currentTarget.value;
            setTyped(text);
            if (text.includes(',')) add(text);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && typed().trim() !== '') {
              event.preventDefault();
              add(typed());
            } else if (event.key === 'Backspace' && typed() === '') {
              const last = props.value.at(-1);
              if (last !== undefined) remove(last);
            }
          }}
          onBlur={leave}
        />
        <datalist id={`${id}-list`}>
          <For each={suggested()}>{(tag) => <option value={tag} />}</For>
        </datalist>
      </div>
    </FieldFrame>
  );
}
