import { createEffect, createSignal, on, onCleanup, Show } from 'solid-js';
import { beginning } from '#core/lib/text/shorten.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { useCopy } from '#ui/src/components/use-copy.ts';
import { plural } from '#ui/src/kernel/words.ts';

const SAID_MS = 2_000;

/** Copies a text; says that it did. `caution`: what to know about the copy. */
export function CopyButton(props: { text: string; label: string; kind?: 'plain' | 'quiet'; caution?: string | undefined }) {
  const copyText = useCopy();
  const [copied, setCopied] = createSignal(false);
  let timer: ReturnType<typeof setTimeout> | undefined;
  onCleanup(() => clearTimeout(timer));

  const copy = async () => {
    if (!(await copyText(props.text, props.caution))) return;
    setCopied(true);
    clearTimeout(timer);
    timer = setTimeout(() => setCopied(false), SAID_MS);
  };

  return (
    <>
      <Button
        kind={props.kind ?? 'quiet'}
        shape="icon"
        size="small"
        label={copied() ? 'Copied' : `Copy ${props.label}`}
        onPress={() => void copy()}
      >
        <Icon name={copied() ? 'check' : 'copy'} />
      </Button>
      <span class="visually-hidden" role="status">
        {copied() ? 'Copied' : ''}
      </span>
    </>
  );
}

/** Characters that a browser lays out without a pause. */
const SHOWN_AT_ONCE = 50_000;

/** A longer text of a machine, with a button that copies it. Of a very long one the beginning is shown, and more on request. */
export function CodeBlock(props: { code: string; label: string; wrap?: boolean; max_height?: string }) {
  const [limit, setLimit] = createSignal(SHOWN_AT_ONCE);
  createEffect(
    on(
      () => props.code,
      () => setLimit(SHOWN_AT_ONCE),
      { defer: true },
    ),
  );
  const left = () => props.code.length - limit();
  return (
    <div class="code-block">
      <pre
        tabindex="0"
        role="group"
        aria-label={props.label}
        data-wrap={props.wrap ? 'true' : undefined}
        style={{ 'max-height': props.max_height }}
      >
        {left() > 0 ? beginning(props.code, limit()) : props.code}
      </pre>
      <Show when={left() > 0}>
        <button ref={passesFocus} type="button" class="link-button" onClick={() => setLimit(limit() + SHOWN_AT_ONCE)}>
          {`Show more (${plural(left(), 'character')} left)`}
        </button>
      </Show>
      <CopyButton text={props.code} label={props.label} />
    </div>
  );
}
