import { createSignal } from 'solid-js';
import { browserTimers, type Timers } from './data/query.ts';

interface Toast {
  readonly id: number;
  readonly tone: 'good' | 'bad' | 'plain';
  readonly text: string;
  readonly action?: ToastAction;
  readonly tally?: Tally;
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
}

export interface Toasts {
  readonly list: () => readonly Toast[];
  show(text: string, tone?: Toast['tone'], options?: ToastOptions): void;
  dismiss(id: number): void;
  /** None goes by itself while a person is at them. */
  hold(on: boolean): void;
}

const KEPT = 4;
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
  const countDown = ({ id, tone, action }: Toast) => {
    timers.clear(ends.get(id));
    if (tone === 'bad' || held) return;
    ends.set(
      id,
      timers.set(() => dismiss(id), action === undefined ? SHOWN_MS : SHOWN_WITH_ACTION_MS),
    );
  };

  return {
    list,
    dismiss,
    hold(on) {
      held = on;
      for (const toast of list()) countDown(toast);
    },
    show(said, tone = 'plain', options = {}) {
      last += 1;
      const { tally, action, text } = together(said, options, list());
      const toast = { id: last, tone, text, ...(action && { action }), ...(tally && { tally }) };
      const replaced = (other: Toast) => other.text === text || (tally !== undefined && other.tally?.kind === tally.kind);
      const kept = [...list().filter((other) => !replaced(other)), toast].slice(-KEPT);
      for (const { id } of list()) if (!kept.some((other) => other.id === id)) dismiss(id);
      setList(kept);
      countDown(toast);
    },
  };
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
