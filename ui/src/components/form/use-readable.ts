import { createEffect, createSignal, on, onCleanup } from 'solid-js';

/** Nothing can be read in less time: the second press of a double click was meant for the previous content. */
const READING_MS = 500;

/** Whether the content has been visible long enough to be read; a new value of `shown` restarts the time. */
export function useReadable(shown: () => unknown): () => boolean {
  const [readable, setReadable] = createSignal(false);
  createEffect(
    on(shown, () => {
      setReadable(false);
      const timer = setTimeout(() => setReadable(true), READING_MS);
      onCleanup(() => clearTimeout(timer));
    }),
  );
  return readable;
}
