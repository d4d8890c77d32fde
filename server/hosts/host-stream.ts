import type { HostEvent } from '#core/contract/deploy/control.ts';

/** The outgoing events of one host, in bounded memory: the one that is being sent, and the latest of each kind. */
export interface HostStream {
  readonly body: ReadableStream<Uint8Array>;
  /** An event replaces an earlier one of the same kind that was not sent yet. */
  readonly send: (event: HostEvent) => void;
  /** Ends the connection, so that the host reconnects and gets the current state. */
  drop(reason: string): void;
  /** The reader disconnected. */
  readonly left: () => void;
}

/** Bytes sent at a time: each piece that is taken shows that the reader is alive. */
const PIECE = 64 * 1024;
/** A reader that takes nothing for this time has stalled. The system buffers some megabytes, which take long on a slow link. */
const STALL_MS = 120_000;
const PING_MS = 10_000;
/** `snapshot` and `stop` are one kind, because the later of them replaces the other. */
const KIND: Readonly<Record<HostEvent['event'], string>> = {
  snapshot: 'state',
  stop: 'state',
  tokens: 'tokens',
  identity: 'identity',
  names: 'names',
  beside: 'beside',
  signed: 'signed',
  listen: 'listen',
  replay: 'replay',
  cancel: 'cancel',
  decision: 'decision',
  ping: 'ping',
};

/** The key under which the latest event replaces others. Every cancellation and every decision is sent. */
function keyOf(event: HostEvent): string {
  if (event.event === 'cancel') return `cancel ${event.data.id}`;
  return event.event === 'decision' ? `decision ${event.data.nonce}` : KIND[event.event];
}

/** @param onEnd is called once, when the reader is gone or was dropped. */
export function createHostStream(
  onEnd: (reason: string | null) => void,
  { stall_ms = STALL_MS, ping_ms = PING_MS }: { readonly stall_ms?: number; readonly ping_ms?: number } = {},
): HostStream {
  const encoder = new TextEncoder();
  /** By key, in the order in which the first event of each key arrived. */
  const waiting = new Map<string, HostEvent>();
  let current = new Uint8Array(0);
  let moved_at = performance.now();
  let ended = false;
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;

  const room = () => !ended && (controller?.desiredSize ?? 0) > 0;
  const isIdle = () => current.length === 0 && waiting.size === 0 && (controller?.desiredSize ?? 0) > 0;
  const next = (): Uint8Array | null => {
    const [first] = current.length > 0 ? [] : waiting;
    if (first !== undefined) {
      waiting.delete(first[0]);
      current = encoder.encode(textOf(first[1]));
    }
    if (current.length === 0) return null;
    const piece = current.subarray(0, PIECE);
    current = current.subarray(PIECE);
    // Even an empty subarray would hold the buffer of a whole snapshot.
    if (current.length === 0) current = new Uint8Array(0);
    return piece;
  };
  const flush = (): void => {
    for (let piece = room() ? next() : null; piece !== null; piece = room() ? next() : null) controller?.enqueue(piece);
  };
  const end = (reason: string | null): boolean => {
    if (ended) return false;
    ended = true;
    clearInterval(pings);
    clearInterval(watch);
    waiting.clear();
    current = new Uint8Array(0);
    onEnd(reason);
    return true;
  };
  const drop = (reason: string): void => {
    if (end(reason)) controller?.error(new Error(reason));
  };
  const send = (event: HostEvent): void => {
    if (ended) return;
    if (isIdle()) moved_at = performance.now();
    waiting.set(keyOf(event), event);
    flush();
  };
  const pings = setInterval(() => {
    if (isIdle()) send({ event: 'ping', data: {} });
  }, ping_ms);
  const watch = setInterval(() => {
    const is_stalled = !isIdle() && performance.now() - moved_at > stall_ms;
    if (is_stalled) drop(`it has read nothing for ${stall_ms / 1_000} s`);
  }, stall_ms / 4);

  const body = new ReadableStream<Uint8Array>({
    start(opened) {
      controller = opened;
    },
    pull() {
      moved_at = performance.now();
      flush();
    },
    cancel: () => void end(null),
  });
  return { body, send, drop, left: () => void end(null) };
}

function textOf({ event, data }: HostEvent): string {
  return `event: ${event}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}
