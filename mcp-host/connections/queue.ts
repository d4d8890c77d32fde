import { AppError } from '#core/errors.ts';
import type { QueueGauge } from '#core/contract/observe/usage-batch.ts';
import type { Slot } from '#core/query/query.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { createTimeouts } from '#core/engines/shared/timeouts.ts';
import { createWaits } from './waits.ts';

export interface QueueLimits {
  readonly name: string;
  readonly max_concurrency: number;
  readonly queue_limit: number;
  readonly queue_timeout_ms: number;
}

export interface QueueCounters {
  readonly active: number;
  readonly waiting: number;
  readonly completed: number;
  /** Calls rejected because the queue was full. */
  readonly rejected: number;
  /** Calls that timed out waiting for a slot. */
  readonly timed_out: number;
  /** Calls that had to wait. */
  readonly waits: number;
}

/** The slots of one connection, first come, first served; waiting places are shared between callers when there are too few. It outlives swaps: limits change, counters and waiters stay. */
export interface Queue extends Slot {
  configure(limits: QueueLimits): void;
  /** How many calls the connection may run at once, over all hosts that share the limit. */
  limit(): number;
  /** This host's part of the limit; null: it has the whole of it. Calls that run are not ended by a smaller part. */
  grant(slots: number | null): void;
  /** Is called when a call has to wait because of the part, not of the limit. */
  onShort(listener: () => void): void;
  counters(): QueueCounters;
  /** As it is reported to the server. */
  gauge(): Omit<QueueGauge, 'id'>;
}

interface Waiter {
  readonly admit: () => void;
  readonly pipeline: Pipeline | undefined;
  readonly began: number;
  /** Whose share of the waiting places it takes. */
  readonly holder: string;
  /** Its place goes to a caller with fewer. */
  readonly giveUp: () => void;
}

type Pipeline = (slots: number) => boolean;

export function createQueue(initial: QueueLimits, now: () => number = Date.now): Queue {
  let limits = initial;
  const waiters = new Set<Waiter>();
  /** Those who were in already; they come first. */
  const returned = new Set<Waiter>();
  const timeouts = createTimeouts();
  /** Calls that were let in. */
  let active = 0;
  /** How many of them are pipelined, behind others that run: they wait as well. */
  let pipelined = 0;
  let completed = 0;
  let rejected = 0;
  let timed_out = 0;
  let waits = 0;
  const waited = createWaits(now);
  let granted: number | null = null;
  let slots = limits.max_concurrency;
  let onShort = () => {};

  const apply = () => {
    slots = granted === null ? limits.max_concurrency : Math.min(granted, limits.max_concurrency);
    pipelined = Math.min(pipelined, Math.max(0, active - slots));
    fill();
  };
  const fill = () => {
    const before = pipelined;
    if (fillFrom(returned)) fillFrom(waiters);
    if (pipelined > before) tellWhenShort();
  };
  /** Only when nothing else is under way: who listens may grant another part at once. */
  const tellWhenShort = () => {
    if (slots < limits.max_concurrency) onShort();
  };
  /** @returns whether everybody of the line was let in. */
  const fillFrom = (line: Set<Waiter>): boolean => {
    for (const waiter of line) {
      if (!letIn(waiter.pipeline)) return false;
      line.delete(waiter);
      waiter.admit();
    }
    return true;
  };
  const letIn = (pipeline: Pipeline | undefined): boolean => {
    if (active >= slots) {
      if (pipelined >= limits.queue_limit || pipeline?.(slots) !== true) return false;
      pipelined++;
    }
    active++;
    return true;
  };
  const letOut = () => {
    active--;
    // Not while more run than may since the slots became fewer.
    if (pipelined > 0 && active - pipelined < slots) pipelined--;
  };
  const waiting = () => waiters.size + returned.size + pipelined;
  /** Makes room for a caller that has fewer places than the one with most, whose newest goes. @returns whether there is room. */
  const makeRoom = (holder: string): boolean => {
    const counts = new Map<string, number>();
    for (const waiter of waiters) counts.set(waiter.holder, (counts.get(waiter.holder) ?? 0) + 1);
    let [largest, most] = ['', 0];
    for (const [name, count] of counts) if (count > most) [largest, most] = [name, count];
    // Of equal shares neither takes from the other.
    if (most <= (counts.get(holder) ?? 0) + 1) return false;
    const newest = [...waiters].findLast((waiter) => waiter.holder === largest);
    newest?.giveUp();
    return newest !== undefined;
  };
  const wait = (line: Set<Waiter>, signal: StopSignal | undefined, holder: string, pipeline?: Pipeline): Promise<void> => {
    waits++;
    const began = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (error: AppError) => {
      line.delete(waiter);
      settle();
      reject(error);
    };
    const onAbort = () => leave(goneWhileWaiting());
    const timeout = timeouts.add(limits.queue_timeout_ms, () => {
      timed_out++;
      leave(new AppError('no_free_slot', waitedTooLong(limits), { retry_after: 1 }));
    });
    const settle = () => {
      timeout.clear();
      signal?.removeEventListener('abort', onAbort);
      waited.add(performance.now() - began);
    };
    const waiter: Waiter = {
      pipeline,
      began,
      holder,
      giveUp() {
        rejected++;
        leave(new AppError('queue_full', tooMany(limits), { retry_after: 1 }));
      },
      admit() {
        settle();
        resolve();
      },
    };
    signal?.addEventListener('abort', onAbort);
    line.add(waiter);
    tellWhenShort();
    return promise;
  };

  return {
    enter(signal, pipeline, holder = NO_HOLDER) {
      if (signal?.aborted) return Promise.reject(new AppError('cancelled', 'The call was cancelled before it began.'));
      if (waiters.size + returned.size === 0 && letIn(pipeline)) {
        waited.add(0);
        if (pipelined > 0) tellWhenShort();
        return undefined;
      }
      if (waiting() >= limits.queue_limit && !makeRoom(holder())) {
        rejected++;
        return Promise.reject(new AppError('queue_full', tooMany(limits), { retry_after: 1 }));
      }
      return wait(waiters, signal, holder(), pipeline);
    },
    again(signal) {
      letOut();
      const turn = signal?.aborted ? Promise.reject(goneWhileWaiting()) : wait(returned, signal, '');
      // Everybody who is displaced at once comes here: the last one makes room for the first.
      fill();
      return turn;
    },
    slots: () => slots,
    leave() {
      letOut();
      completed++;
      fill();
    },
    configure(next) {
      limits = next;
      apply();
    },
    limit: () => limits.max_concurrency,
    grant(part) {
      granted = part;
      apply();
    },
    onShort(listener) {
      onShort = listener;
    },
    counters: () => ({ active: active - pipelined, waiting: waiting(), completed, rejected, timed_out, waits }),
    gauge() {
      const at = performance.now();
      const under_way = [...returned, ...waiters].map(({ began }) => at - began);
      return {
        name: limits.name,
        limit: slots,
        active: active - pipelined,
        waiting: waiting(),
        completed,
        rejected,
        timed_out,
        longest_wait_ms: Math.max(0, ...under_way),
        waits: waited.recent(under_way),
      };
    },
  };
}

const NO_HOLDER = (): string => '';
const goneWhileWaiting = () => new AppError('cancelled', 'The call was cancelled while it waited.');
const tooMany = ({ name, max_concurrency, queue_limit }: QueueLimits): string =>
  `The connection ${name} is busy: ${max_concurrency} calls are running and ${queue_limit} are waiting. Try again in a moment, or raise max_concurrency or queue_limit of the connection.`;
const waitedTooLong = ({ name, queue_timeout_ms }: QueueLimits): string =>
  `No slot became free on the connection ${name} within ${queue_timeout_ms} ms. Try again later, or raise max_concurrency or queue_timeout_ms of the connection.`;
