import { createSignal } from 'solid-js';
import { browserTimers, type Timers } from './data/query.ts';

interface Toast {
  readonly id: number;
  readonly tone: 'good' | 'bad' | 'plain';
  readonly text: string;
  readonly action?: ToastAction;
  readonly tally?: Tally;
  /** It does not go by itself. */
  readonly lasting?: boolean;
}

/** Something that can be done about what the toast says, usually undone. */
interface ToastAction {
  readonly label: string;
  readonly run: () => void;
}

/** One of several alike that a person does one after the other: they are one toast, whose action is that of all. */
interface Tally {
  /** The same for all that belong together. */
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
  /** Stays until a person dismisses it or the function is called that this returns. */
  keep(text: string, tone?: Toast['tone'], options?: ToastOptions): () => void;
  /** Says that `work` is under way while it takes longer than a second. */
  during<T>(work: Promise<T>): Promise<T>;
  dismiss(id: number): void;
  /** None goes by itself while a person is at them. */
  hold(on: boolean): void;
}

const KEPT = 4;
const PATIENCE_MS = 1_000;
const WORKING = 'Working…';
const SHOWN_MS = 6_000;
/** Somebody has to read it and decide. */
const SHOWN_WITH_ACTION_MS = 12_000;

/**
 * Short messages at the edge of the page. Bad news stays until it is dismissed, the rest goes by itself. Not Kobalte's Toast: that one
 * keeps its list in the module, cannot count several deletions into one Undo, and adds 4.5 kB gzip to the first page; the list pauses
 * below a pointer or the focus and is read out politely here, too.
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
    show(said, tone = 'plain', options = {}) {
      last += 1;
      const { tally, action, text } = together(said, options, list());
      const { lasting = false } = options;
      const toast = { id: last, tone, text, lasting, ...(action && { action }), ...(tally && { tally }) };
      const replaced = (other: Toast) => other.text === text || (tally !== undefined && other.tally?.kind === tally.kind);
      const kept = [...list().filter((other) => !replaced(other)), toast].slice(-KEPT);
      for (const { id } of list()) if (!kept.some((other) => other.id === id)) dismiss(id);
      setList(kept);
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

/** What is said and offered once the toasts of the same tally that are still there are counted in. */
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
