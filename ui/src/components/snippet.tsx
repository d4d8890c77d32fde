import { createSignal, onCleanup } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

/** Text for a terminal or a file, with a button that copies it. */
export function Snippet(props: { text: string; label: string }) {
  const { toasts } = useKernel();
  const [copied, setCopied] = createSignal(false);
  let timer: ReturnType<typeof setTimeout> | undefined;
  onCleanup(() => clearTimeout(timer));

  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text);
    } catch {
      toasts.show('The browser does not allow copying here. Select the text and copy it by hand.', 'bad');
      return;
    }
    setCopied(true);
    clearTimeout(timer);
    timer = setTimeout(() => setCopied(false), 2_000);
  };

  return (
    <div class="snippet">
      <pre tabindex="0" role="group" data-lines={props.text.includes('\n') ? 'many' : undefined} aria-label={props.label}>
        {props.text}
      </pre>
      <Button
        kind="quiet"
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
    </div>
  );
}
