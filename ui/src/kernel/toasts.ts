import { createSignal } from 'solid-js';
import { browserTimers, type Timers } from './query.ts';

export interface Toast {
  readonly id: number;
  readonly tone: 'good' | 'bad' | 'plain';
  readonly text: string;
}

export interface Toasts {
  readonly list: () => readonly Toast[];
  show(text: string, tone?: Toast['tone']): void;
  dismiss(id: number): void;
}

const KEPT = 4;

/** Short messages at the edge of the page. Bad news stays until it is dismissed, the rest for six seconds. */
export function createToasts(timers: Timers = browserTimers): Toasts {
  const [list, setList] = createSignal<readonly Toast[]>([]);
  let last = 0;
  const dismiss = (id: number) => setList((toasts) => toasts.filter((toast) => toast.id !== id));

  return {
    list,
    dismiss,
    show(text, tone = 'plain') {
      last += 1;
      const id = last;
      setList((toasts) => [...toasts.filter((toast) => toast.text !== text), { id, tone, text }].slice(-KEPT));
      if (tone !== 'bad') timers.set(() => dismiss(id), 6_000);
    },
  };
}
