import { createEffect, createUniqueId, type JSX, Show } from 'solid-js';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

/** A modal dialog of the platform: focus stays inside, Escape and a press beside it close it. */
export function Dialog(props: { open: boolean; title: string; onClose: () => void; foot?: JSX.Element; children: JSX.Element }) {
  const id = createUniqueId();
  let dialog: HTMLDialogElement | undefined;
  createEffect(() => {
    if (props.open && !dialog?.open) dialog?.showModal();
    if (!props.open) dialog?.close();
  });
  return (
    <dialog
      ref={(element) => {
        dialog = element;
      }}
      class="dialog"
      aria-labelledby={id}
      onClose={() => props.onClose()}
      onClick={(event) => {
        if (event.target === dialog) dialog?.close();
      }}
    >
      <Show when={props.open}>
        <div class="dialog-head">
          <h2 id={id}>{props.title}</h2>
          <Button kind="quiet" shape="icon" label="Close" onPress={() => dialog?.close()}>
            <Icon name="close" />
          </Button>
        </div>
        <div class="dialog-body">{props.children}</div>
        <Show when={props.foot}>
          <div class="dialog-foot">{props.foot}</div>
        </Show>
      </Show>
    </dialog>
  );
}
