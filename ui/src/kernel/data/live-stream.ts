import { createSignal, untrack } from 'solid-js';
import { browserTimers, type Timers } from '#ui/src/kernel/data/query.ts';

export type StreamState = 'connecting' | 'open' | 'waiting' | 'closed';

/** The part of a WebSocket that is used. */
export interface StreamSocket {
  addEventListener(type: 'open', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code: number }) => void): void;
  close(): void;
}

/** The visibility of a document. */
interface StreamPage {
  readonly visibilityState: string;
  addEventListener(type: 'visibilitychange', listener: () => void): void;
  removeEventListener(type: 'visibilitychange', listener: () => void): void;
}

interface LiveStream {
  readonly state: () => StreamState;
  readonly open: () => void;
  /** Reconnects with a new address; a closed stream does so on the next `open`. */
  readonly reopen: () => void;
  /** Resolves when the server has confirmed, or when the connection was never established. */
  readonly close: () => Promise<void>;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
/**
 * The server sends a ping every 25 seconds. A connection without one is dead, for example after the computer slept, which closes no
 * socket.
 */
const SILENT_MS = 60_000;

/**
 * A WebSocket that reconnects with increasing delays, on a hidden page only once it is visible again. `url` is called for each attempt,
 * so it can contain a resume position. A close code in `final` (session ended) is not retried.
 */
export function createLiveStream(options: {
  readonly url: () => string;
  readonly onMessage: (text: string) => void;
  readonly final?: readonly number[];
  readonly onFinal?: (code: number) => void;
  readonly connect?: (url: string) => StreamSocket;
  readonly timers?: Timers;
  readonly page?: StreamPage;
}): LiveStream {
  const { timers = browserTimers, page = globalThis.document, final = [4_401] } = options;
  const connect = options.connect ?? ((url: string): StreamSocket => new WebSocket(url));
  const [state, setState] = createSignal<StreamState>('closed');
  let socket: StreamSocket | undefined;
  let timer: unknown;
  let wait_ms = FIRST_WAIT_MS;

  const open = () => {
    timers.clear(timer);
    setState('connecting');
    const mine = connect(options.url());
    socket = mine;
    const listen = () => {
      timers.clear(timer);
      timer = timers.set(giveUp, SILENT_MS);
    };
    listen();
    mine.addEventListener('open', () => {
      if (mine !== socket) return;
      wait_ms = FIRST_WAIT_MS;
      listen();
      setState('open');
    });
    mine.addEventListener('message', ({ data }) => {
      if (mine !== socket) return;
      listen();
      if (typeof data === 'string') options.onMessage(data);
    });
    mine.addEventListener('close', ({ code }) => {
      if (mine !== socket) return;
      timers.clear(timer);
      if (final.includes(code)) {
        page?.removeEventListener('visibilitychange', show);
        setState('closed');
        options.onFinal?.(code);
        return;
      }
      setState('waiting');
      timer = timers.set(retry, wait_ms);
      wait_ms = Math.min(LONGEST_WAIT_MS, wait_ms * 2);
    });
  };

  let is_due = false;
  const retry = () => {
    is_due = page?.visibilityState === 'hidden';
    if (!is_due) open();
  };
  const show = () => {
    if (is_due) retry();
  };

  /** Sockets that were abandoned before they were open. */
  let closing: Promise<unknown> = Promise.resolve();
  const drop = () => {
    timers.clear(timer);
    is_due = false;
    const [old, was_opening] = [socket, untrack(state) === 'connecting'];
    socket = undefined;
    wait_ms = FIRST_WAIT_MS;
    if (was_opening && old !== undefined) closing = Promise.all([closing, closeOnceOpen(old)]);
    else old?.close();
  };

  const giveUp = () => {
    drop();
    setState('waiting');
    retry();
  };

  return {
    state,
    open() {
      if (state() !== 'closed') return;
      page?.addEventListener('visibilitychange', show);
      open();
    },
    reopen() {
      if (untrack(state) === 'closed') return;
      drop();
      open();
    },
    async close() {
      drop();
      page?.removeEventListener('visibilitychange', show);
      setState('closed');
      await closing;
    },
  };
}

/** Browsers log an error for a socket that is closed before it is open. */
function closeOnceOpen(socket: StreamSocket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.addEventListener('open', () => {
    socket.close();
    resolve();
  });
  socket.addEventListener('close', () => resolve());
  return promise;
}
