import { createEffect, createSignal, on, onCleanup } from 'solid-js';

/** Nobody reads a question in less: the second press of a double click is meant for what stood there before it. */
const READING_MS = 500;

/** Whether a person can have read what is shown; another value of it has to be read again. */
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
