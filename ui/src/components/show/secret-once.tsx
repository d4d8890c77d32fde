import { For, type JSX } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Snippet } from './snippet.tsx';

/** The secrets of a record that was just created; they cannot be read again. */
export function SecretOnce<T>(props: {
  of: T | undefined;
  title: string | ((of: NonNullable<T>) => string);
  secrets: (of: NonNullable<T>) => readonly { readonly label: string; readonly value: string }[];
  onClose: () => void;
  /** Sluice stores the secret encrypted, since it needs the plain value. */
  encrypted?: boolean;
  children?: (of: NonNullable<T>) => JSX.Element;
}) {
  return (
    <DialogOf
      of={props.of}
      once
      title={props.title}
      onClose={props.onClose}
      foot={
        <Button kind="primary" onPress={props.onClose}>
          I have copied it
        </Button>
      }
    >
      {(of) => (
        <div class="stack">
          <Notice tone="warning" title="Copy it now">
            <p>
              It is shown only once. {props.encrypted === true ? 'Sluice stores it encrypted.' : 'Sluice stores only its hash.'}
            </p>
          </Notice>
          <For each={props.secrets(of)}>
            {(secret) => (
              <div>
                <p class="field-label">{secret.label}</p>
                <Snippet text={secret.value} label={secret.label} />
              </div>
            )}
          </For>
          {props.children?.(of)}
        </div>
      )}
    </DialogOf>
  );
}
