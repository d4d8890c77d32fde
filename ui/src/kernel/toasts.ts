import { createSignal } from 'solid-js';
import { browserTimers, type Timers } from './data/query.ts';

interface Toast {
  readonly id: number;
  readonly tone: 'good' | 'bad' | 'plain';
  readonly text: string;
  readonly action?: ToastAction;
  readonly tally?: Tally;
  /** Has no timeout. */
  readonly lasting?: boolean;
}

/** An action in a toast, usually Undo. */
interface ToastAction {
  readonly label: string;
  readonly run: () => void;
}

/** Similar toasts in a row are merged into one, whose action covers all of them. */
interface Tally {
  /** Toasts with the same kind are merged. */
  readonly kind: string;
  readonly count: number;
  readonly text: (count: number) => string;
}

interface ToastOptions {
  readonly action?: ToastAction;
  readonly tally?: Tally;
  readonly lasting?: boolean;
}

export interface Toasts {
  readonly list: () => readonly Toast[];
  show(text: string, tone?: Toast['tone'], options?: ToastOptions): void;
  /** Stays until the person dismisses it or the returned function is called. */
  keep(text: string, tone?: Toast['tone'], options?: ToastOptions): () => void;
  /** Shows a progress toast when `work` takes longer than a second. */
  during<T>(work: Promise<T>): Promise<T>;
  dismiss(id: number): void;
  /** Pauses all timeouts while the pointer or the focus is on the toasts. */
  hold(on: boolean): void;
}

const MOST_TOASTS = 4;
const PATIENCE_MS = 1_000;
const WORKING = 'Working…';
const SHOWN_MS = 6_000;
/** Longer, since the person has to read it and decide. */
const SHOWN_WITH_ACTION_MS = 12_000;

/**
 * Short messages at the edge of the page. Errors stay until they are dismissed, other toasts time out. Not Kobalte's Toast: it stores
 * its list in the module, cannot merge several deletions into one Undo, and adds 4.5 kB gzip to the first page. This list also pauses
 * under the pointer or the focus, and is announced politely.
 */
export function createToasts(timers: Timers = browserTimers): Toasts {
  const [list, setList] = createSignal<readonly Toast[]>([]);
  const ends = new Map<number, unknown>();
  let last = 0;
  let held = false;
  const dismiss = (id: number) => {
    timers.clear(ends.get(id));
    ends.delete(id);
    setList((toasts) => toasts.filter((toast) => toast.id !== id));
  };
  const countDown = ({ id, tone, action, lasting }: Toast) => {
    timers.clear(ends.get(id));
    if (tone === 'bad' || held || lasting) return;
    ends.set(
      id,
      timers.set(() => dismiss(id), action === undefined ? SHOWN_MS : SHOWN_WITH_ACTION_MS),
    );
  };

  const toasts: Toasts = {
    list,
    dismiss,
    hold(on) {
      held = on;
      for (const toast of list()) countDown(toast);
    },
    show(message, tone = 'plain', options = {}) {
      last += 1;
      const { tally, action, text } = together(message, options, list());
      const { lasting = false } = options;
      const toast = { id: last, tone, text, lasting, ...(action && { action }), ...(tally && { tally }) };
      const replaced = (other: Toast) => other.text === text || (tally !== undefined && other.tally?.kind === tally.kind);
      const remaining = [...list().filter((other) => !replaced(other)), toast].slice(-MOST_TOASTS);
      for (const { id } of list()) if (!remaining.some((other) => other.id === id)) dismiss(id);
      setList(remaining);
      countDown(toast);
    },
    keep(text, tone = 'plain', options = {}) {
      toasts.show(text, tone, { ...options, lasting: true });
      const id = last;
      return () => dismiss(id);
    },
    async during(work) {
      let hide: (() => void) | undefined;
      const show = () => {
        hide = toasts.keep(WORKING);
      };
      const timer = timers.set(show, PATIENCE_MS);
      try {
        return await work;
      } finally {
        timers.clear(timer);
        hide?.();
      }
    },
  };
  return toasts;
}

/** The text and action of a toast, merged with visible toasts of the same tally. */
function together(text: string, { tally, action }: ToastOptions, shown: readonly Toast[]): ToastOptions & { text: string } {
  const before = shown.find((other) => tally !== undefined && other.tally?.kind === tally.kind);
  if (tally === undefined || before?.tally === undefined) return { text, ...(tally && { tally }), ...(action && { action }) };
  const count = before.tally.count + tally.count;
  const run = () => {
    action?.run();
    before.action?.run();
  };
  return { text: tally.text(count), tally: { ...tally, count }, ...(action && { action: { ...action, run } }) };
}
