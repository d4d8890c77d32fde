import { For, type JSX } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Snippet } from './snippet.tsx';

/** A secret that was made just now and is cannot be read again. */
export function SecretOnce(props: {
  open: boolean;
  title: string;
  secrets: readonly { readonly label: string; readonly value: string }[];
  onClose: () => void;
  /** Sluice needs it itself. */
  encrypted?: boolean;
  children?: JSX.Element;
}) {
  return (
    <Dialog
      open={props.open}
      once
      title={props.title}
      onClose={props.onClose}
      foot={
        <Button kind="primary" onPress={props.onClose}>
          I have copied it
        </Button>
      }
    >
      <div class="stack">
        <Notice tone="warning" title="Copy it now">
          <p>
            It is shown only once. {props.encrypted === true ? 'Sluice stores it encrypted.' : 'Sluice stores only its hash.'}
          </p>
        </Notice>
        <For each={props.secrets}>
          {(secret) => (
            <div>
              <p class="field-label">{secret.label}</p>
              <Snippet text={secret.value} label={secret.label} />
            </div>
          )}
        </For>
        {props.children}
      </div>
    </Dialog>
  );
}
