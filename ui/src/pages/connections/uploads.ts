import { createSignal, onCleanup } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { bytes, plural } from '#ui/src/kernel/words.ts';

/** A file that is uploading, or whose upload failed. */
export interface Upload {
  readonly name: string;
  readonly file: File;
  readonly state: 'sending' | 'failed';
  readonly detail: string;
}

/** Minimum interval between reloads of the list while more files wait. */
const RELOAD_MS = 5_000;

/**
 * Uploads files to a connection one after the other, so that each gets the full bandwidth.
 * @param reload reads the list of files.
 */
export function createUploads(connection_id: () => string, reload: () => Promise<unknown>) {
  const { call, toasts } = useKernel();
  const [shown, setShown] = createSignal<readonly Upload[]>([]);
  const [waiting, setWaiting] = createSignal<readonly (readonly [string, File])[]>([]);
  let is_here = true;
  let is_sending = false;
  onCleanup(() => (is_here = false));

  const warn = (event: BeforeUnloadEvent) => event.preventDefault();
  const put = (name: string, upload?: Upload) =>
    setShown((before) => [...before.filter((each) => each.name !== name), ...(upload === undefined ? [] : [upload])]);

  async function send(name: string, file: File): Promise<string | null> {
    put(name, { name, file, state: 'sending', detail: `Uploading ${bytes(file.size)}…` });
    try {
      const { replaced } = await call('files.upload', { id: connection_id(), name }, undefined, file);
      put(name);
      return `${replaced ? 'Replaced' : 'Added'} “${name}”.`;
    } catch (fault) {
      const { detail } = toProblem(fault);
      put(name, { name, file, state: 'failed', detail });
      // The list of uploads is no longer visible.
      if (!is_here) toasts.show(`“${name}” wasn’t uploaded. ${detail}`, 'bad');
      return null;
    }
  }

  async function sendAll(): Promise<void> {
    is_sending = true;
    // Uploads continue on other pages, and end when the tab closes.
    window.addEventListener('beforeunload', warn);
    const sent: string[] = [];
    let read_at = performance.now();
    for (let next = waiting()[0]; next !== undefined; next = waiting()[0]) {
      setWaiting((before) => before.slice(1));
      const sentence = await send(...next);
      if (sentence !== null) sent.push(sentence);
      if (!is_here || performance.now() - read_at < RELOAD_MS) continue;
      await reload();
      read_at = performance.now();
    }
    is_sending = false;
    window.removeEventListener('beforeunload', warn);
    const [first] = sent;
    if (first !== undefined) toasts.show(sent.length === 1 ? first : `Uploaded ${plural(sent.length, 'file')}.`, 'good');
    if (is_here) await reload();
  }

  return {
    shown,
    /** Number of files in the queue. */
    waiting: () => waiting().length,
    add(file: File, name = file.name) {
      put(name);
      setWaiting((before) => [...before.filter(([each]) => each !== name), [name, file]]);
      if (!is_sending) void sendAll();
    },
    dismiss: (name: string) => put(name),
  };
}
