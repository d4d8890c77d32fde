import { createSignal } from 'solid-js';
import { browserTimers, type Timers } from './query.ts';

export interface Toast {
  readonly id: number;
  readonly tone: 'good' | 'bad' | 'plain';
  readonly text: string;
  readonly action?: ToastAction;
}

/** Something that can be done about what the toast says, usually undone. */
export interface ToastAction {
  readonly label: string;
  readonly run: () => void;
}

export interface Toasts {
  readonly list: () => readonly Toast[];
  show(text: string, tone?: Toast['tone'], options?: { readonly action?: ToastAction }): void;
  dismiss(id: number): void;
}

const KEPT = 4;
const SHOWN_MS = 6_000;
/** Somebody has to read it and decide. */
const SHOWN_WITH_ACTION_MS = 12_000;

/** Short messages at the edge of the page. Bad news stays until it is dismissed, the rest goes by itself. */
export function createToasts(timers: Timers = browserTimers): Toasts {
  const [list, setList] = createSignal<readonly Toast[]>([]);
  let last = 0;
  const dismiss = (id: number) => setList((toasts) => toasts.filter((toast) => toast.id !== id));

  return {
    list,
    dismiss,
    show(text, tone = 'plain', { action } = {}) {
      last += 1;
      const id = last;
      const toast = { id, tone, text, ...(action === undefined ? {} : { action }) };
      setList((toasts) => [...toasts.filter((other) => other.text !== text), toast].slice(-KEPT));
      if (tone !== 'bad') timers.set(() => dismiss(id), action === undefined ? SHOWN_MS : SHOWN_WITH_ACTION_MS);
    },
  };
}
