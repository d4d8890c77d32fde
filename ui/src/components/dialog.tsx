import * as Kobalte from '@kobalte/core/dialog';
import { type JSX, Show } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createTyped } from './form/typed.ts';
import { useLeaveGuard } from './form/use-leave-guard.ts';
import { Icon } from './icon.tsx';
import { Sentence } from '#ui/src/components/show/sentence.tsx';

interface Surface {
  open: boolean;
  title: string;
  onClose: () => void;
  /** The content cannot be shown again: Escape, the close button and a press outside ask first. */
  once?: boolean;
  lead?: JSX.Element;
  foot?: JSX.Element;
  children: JSX.Element;
}

/** A modal dialog: traps the focus; Escape or a press outside closes it. */
export function Dialog(props: Surface & { size?: 'small' | 'wide'; alert?: boolean }) {
  return (
    <Modal {...props}>
      <Kobalte.Content
        class="dialog"
        data-size={props.size}
        role={props.alert ? 'alertdialog' : 'dialog'}
        {...focusThereAndBack()}
      >
        <Inside {...props} />
      </Kobalte.Content>
    </Modal>
  );
}

/** A sheet at the right side with more room than a dialog; full width on a phone. */
export function Drawer(props: Surface & { size?: 'wide' }) {
  return (
    <Modal {...props}>
      <Kobalte.Content class="drawer" data-size={props.size} {...focusThereAndBack()}>
        <Inside {...props} />
      </Kobalte.Content>
    </Modal>
  );
}

const TYPED = {
  title: 'Discard what you entered?',
  text: 'Your entries are not saved.',
  action: 'Discard',
  cancel: 'Keep editing',
};
const SHOWN_ONCE = {
  title: 'Close without a copy?',
  text: 'Sluice shows this only once. Without a copy you have to create a new one.',
  action: 'Close',
  cancel: 'Go back',
};

/** A button whose request is in progress. */
const SENDING = '.dialog button[aria-busy=true], form button[type=submit][aria-busy=true]';

/** Mounted anew for each opening: reopening during the closing animation would leave it closed. */
function Modal(props: Pick<Surface, 'open' | 'onClose' | 'once' | 'children'> & { alert?: boolean }) {
  const { dialogs } = useKernel();
  const typed = createTyped();
  let asking = false;
  let place: HTMLElement | undefined;
  const atRisk = () => props.alert !== true && (props.once === true || typed.any());
  /** Escape and a press outside happen by accident, so input is only discarded after a confirmation. */
  const leave = async () => {
    // The dialog shows the result of the request, such as a failure or a secret.
    if (asking || place?.querySelector(SENDING)) return;
    if (atRisk()) {
      asking = true;
      const agreed = await dialogs.confirm({ ...(props.once === true ? SHOWN_ONCE : TYPED), danger: true });
      asking = false;
      if (!agreed) return;
    }
    props.onClose();
  };
  return (
    <Show when={props.open}>
      <Kobalte.Root
        open
        onOpenChange={(open) => {
          if (!open) void leave();
        }}
      >
        <Kobalte.Portal>
          <Kobalte.Overlay class="overlay" />
          <LeaveGuard blocked={() => (atRisk() ? (props.once === true ? SHOWN_ONCE : TYPED).text : undefined)} />
          <div ref={(element) => (place = element)} class="overlay-place" onFocusIn={typed.follow} onInput={typed.follow}>
            {props.children}
          </div>
        </Kobalte.Portal>
      </Kobalte.Root>
    </Show>
  );
}

/** Active while the dialog is open. */
function LeaveGuard(props: { blocked: () => string | undefined }) {
  useLeaveGuard(() => props.blocked());
  return null;
}

/** The focused element inside a shadow root; the host of a code editor cannot restore the focus. */
function focusedElement(): Element | null {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element;
}

const SHOWN_TAB = ':is([role=tab][aria-selected=true], .tab[aria-current=page])';

/** The element that had the focus before the first of several consecutive dialogs opened. */
let opener: Element | null = null;

/** Restores the focus on close to the element that had it on open. */
export function focusThereAndBack() {
  let from: Element | null = null;
  return {
    onOpenAutoFocus: (event: Event) => {
      const now = focusedElement();
      // A dialog that replaces another one opens while nothing has the focus.
      if (now !== null && now !== document.body) opener = openerOf(now);
      from = opener;
      focusInside(event);
    },
    onCloseAutoFocus: (event: Event) => {
      opener = null;
      // Another element has been focused since.
      if (event.defaultPrevented) return;
      event.preventDefault();
      // The opener may be gone, for example a button of a finished decision or of a tab that was left.
      const next =
        from?.isConnected === true ? from : (document.querySelector(`#main ${SHOWN_TAB}`) ?? document.querySelector('#main'));
      if (next instanceof HTMLElement) next.focus({ preventScroll: true });
    },
  };
}

/** A menu is closed by then, so its trigger gets the focus back. */
function openerOf(element: Element): Element | null {
  const menu = element.closest('[role=menu]');
  return menu === null ? element : document.querySelector(`[aria-controls="${menu.id}"]`);
}

/** Focuses the element with `data-autofocus`, otherwise the first field, otherwise the surface. */
function focusInside(event: Event): void {
  const surface = event.currentTarget ?? event.target;
  if (!(surface instanceof HTMLElement)) return;
  const wanted =
    surface.querySelector<HTMLElement>('[data-autofocus], [autofocus]') ??
    surface.querySelector<HTMLElement>('.dialog-body :is(input, textarea, [role=combobox])');
  if (wanted === null) return;
  event.preventDefault();
  // A dialog underneath releases its focus trap only after this one is mounted.
  queueMicrotask(() => wanted.focus());
}

function Inside(props: Surface) {
  return (
    <>
      <div class="dialog-head">
        <Kobalte.Title class="dialog-title">
          <Sentence>{props.title}</Sentence>
        </Kobalte.Title>
        <Kobalte.CloseButton class="button" data-kind="quiet" data-shape="icon" aria-label="Close" title="Close">
          <Icon name="close" />
        </Kobalte.CloseButton>
        <Show when={props.lead}>
          <Kobalte.Description class="dialog-lead">
            <Sentence>{props.lead}</Sentence>
          </Kobalte.Description>
        </Show>
      </div>
      <div class="dialog-body">{props.children}</div>
      <Show when={props.foot}>
        <div class="dialog-foot">{props.foot}</div>
      </Show>
    </>
  );
}
