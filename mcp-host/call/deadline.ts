import { Stop } from '#core/engines/shared/stop.ts';
import type { RequestRecord } from './request-record.ts';

/** Only a call that has run for so long asks to learn when its caller leaves: the signal of a request costs more than a microsecond. */
const WATCH_AFTER_MS = 25;

/** Ends a call early. Hardly any call is stopped, or takes so long that its caller might leave. */
export class Deadline extends Stop {
  readonly record: RequestRecord;
  #is_watched = false;

  constructor(record: RequestRecord) {
    super();
    this.record = record;
  }

  /** From now on the call ends when its caller leaves, who may wait for it in silence. */
  watchCaller(): void {
    if (this.#is_watched) return;
    this.#is_watched = true;
    const { request, peer } = this.record.exchange;
    peer.hold();
    if (request.signal.aborted) this.abort();
    else request.signal.addEventListener('abort', () => this.abort(), { once: true });
  }

  close(): void {
    if (this.#is_watched) this.record.exchange.peer.release();
  }
}

/** The calls that run now, in the order of their beginning. */
export interface RunningCalls {
  readonly all: ReadonlySet<Deadline>;
  open(record: RequestRecord): Deadline;
  close(deadline: Deadline): void;
}

export function createRunningCalls(): RunningCalls {
  const all = new Set<Deadline>();
  /** One timer for all: it looks through the calls that run, as long as any does. */
  let is_waiting = false;
  const wait = () => {
    is_waiting = true;
    setTimeout(watchLong, WATCH_AFTER_MS).unref();
  };
  const watchLong = () => {
    is_waiting = false;
    const begun = performance.now() - WATCH_AFTER_MS;
    for (const call of all) {
      if (call.record.started > begun) break;
      call.watchCaller();
    }
    if (all.size > 0) wait();
  };
  return {
    all,
    open(record) {
      const deadline = new Deadline(record);
      all.add(deadline);
      if (!is_waiting) wait();
      return deadline;
    },
    close(deadline) {
      deadline.close();
      all.delete(deadline);
    },
  };
}
