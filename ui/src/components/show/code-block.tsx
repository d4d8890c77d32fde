import { createSignal, onCleanup } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Icon } from '#ui/src/components/icon.tsx';
import { useCopy } from '#ui/src/components/use-copy.ts';

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

/** A longer text of a machine, with a button that copies it. */
export function CodeBlock(props: { code: string; label: string; wrap?: boolean; max_height?: string }) {
  return (
    <div class="code-block">
      <pre
        tabindex="0"
        role="group"
        aria-label={props.label}
        data-wrap={props.wrap ? 'true' : undefined}
        style={{ 'max-height': props.max_height }}
      >
        {props.code}
      </pre>
      <CopyButton text={props.code} label={props.label} />
    </div>
  );
}
