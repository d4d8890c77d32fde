import { routes } from '#core/contract/routes.ts';
import type { Call } from '#ui/src/api.ts';
import { mayAbort } from './freshness.ts';

/** As `fetch`, for what is no operation. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;

/** Something that stays open between requests, such as a WebSocket. */
export interface Line {
  readonly open: () => void;
  /** Resolves when nothing of it is under way any more. */
  readonly close: () => Promise<void>;
}

/**
 * What goes to the server with the session of this browser. What is sent when the session is over is refused, and the browser reports
 * each refusal; so everything that needs a session passes here, and waits or is given up while one ends.
 */
export interface SessionGate {
  readonly call: Call;
  readonly send: Send;
  /** Opens a line, which is closed before the session ends and opened again when it goes on. */
  readonly attach: (line: Line) => () => void;
  /** From now on nothing starts and nothing is read; resolves when changes under way have ended, at the latest after `CHANGE_MS`. */
  readonly halt: () => Promise<void>;
  /** The session goes on, or another one has begun: what waited is sent. */
  readonly resume: () => void;
  /** The session is over: what waited, and what starts before `resume`, is given up. */
  readonly end: () => void;
}

/** The server checks the session when a request begins: what takes longer than this has been let in. */
const CHANGE_MS = 3_000;

export function createSessionGate(call: Call, send: Send): SessionGate {
  let halted: PromiseWithResolvers<boolean> | undefined;
  let reads = new AbortController();
  const changes = new Set<Promise<unknown>>();
  const lines = new Set<Line>();

  const goesOn = async (until: Promise<boolean>) => {
    if (!(await until)) throw new DOMException('The session has ended.', 'AbortError');
  };
  const follow = <T>(change: Promise<T>): Promise<T> => {
    changes.add(change);
    const forget = () => void changes.delete(change);
    change.then(forget, forget);
    return change;
  };
  const whileRead = (signal?: AbortSignal | null) =>
    signal === undefined || signal === null ? reads.signal : AbortSignal.any([signal, reads.signal]);

  return {
    async call(name, input, signal, ...more) {
      const { method, least } = routes[name];
      if (least === null) return call(name, input, signal, ...more);
      if (halted !== undefined) await goesOn(halted.promise);
      if (mayAbort(name, method, input)) return call(name, input, whileRead(signal), ...more);
      return follow(call(name, input, signal, ...more));
    },
    async send(path, init) {
      if (halted !== undefined) await goesOn(halted.promise);
      // The end of a session of MCP.
      if (init.method === 'DELETE') return follow(send(path, init));
      return send(path, { ...init, signal: whileRead(init.signal) });
    },
    attach(line) {
      lines.add(line);
      if (halted === undefined) line.open();
      return () => {
        lines.delete(line);
        void line.close();
      };
    },
    async halt() {
      // Some lines say goodbye, which they may not do later.
      for (const line of lines) void follow(line.close());
      halted ??= Promise.withResolvers<boolean>();
      reads.abort();
      reads = new AbortController();
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, CHANGE_MS);
      await Promise.race([Promise.allSettled(changes), late.promise]);
      clearTimeout(timer);
    },
    resume() {
      halted?.resolve(true);
      halted = undefined;
      for (const line of lines) line.open();
    },
    end() {
      halted ??= Promise.withResolvers<boolean>();
      halted.resolve(false);
    },
  };
}
