import { AppError } from '#core/errors.ts';
import type { QueueGauge } from '#core/contract/observe/usage-batch.ts';
import type { Slot } from '#core/query/query.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { createTimeouts } from '#core/engines/shared/timeouts.ts';
import { createWaits, type Waits } from './waits.ts';

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

/**
 * The slots of one connection, first come, first served. Callers share a full waiting room. It outlives swaps: limits change,
 * counters and waiting calls stay.
 */
export interface Queue extends Slot {
  configure(limits: QueueLimits): void;
  /** Most calls that the connection may run at once, on all hosts that share the limit together. */
  limit(): number;
  /** Sets this host's share of the limit; null: the whole limit. A smaller share does not end running calls. */
  grant(slots: number | null): void;
  /** The listener is called when a call has to wait because of the share, not because of the limit. */
  onShort(listener: () => void): void;
  counters(): QueueCounters;
  /** The state for reports to the server. */
  gauge(): Omit<QueueGauge, 'id'>;
}

interface Waiter {
  readonly admit: () => void;
  readonly pipeline: Pipeline | undefined;
  readonly began: number;
  /** The caller whose share of the waiting room the call uses. Read only when the room is full, because reading an address takes time. */
  readonly holder: () => string;
  /** Rejects the call, to make room for a caller with fewer waiting calls. */
  readonly giveUp: () => void;
}

type Pipeline = (slots: number) => boolean;

export const createQueue = (initial: QueueLimits, now: () => number = Date.now): Queue => new ConnectionQueue(initial, now);

class ConnectionQueue implements Queue {
  #limits: QueueLimits;
  readonly #waiters = new Set<Waiter>();
  /** Waiting calls that had a slot before; they come first. */
  readonly #returned = new Set<Waiter>();
  readonly #timeouts = createTimeouts();
  /** Number of admitted calls. */
  #active = 0;
  /** Number of admitted calls that are pipelined behind running ones; they count as waiting. */
  #pipelined = 0;
  #completed = 0;
  #rejected = 0;
  #timed_out = 0;
  #waits = 0;
  readonly #waited: Waits;
  #granted: number | null = null;
  #slots: number;
  #onShort = () => {};

  constructor(limits: QueueLimits, now: () => number) {
    this.#limits = limits;
    this.#slots = limits.max_concurrency;
    this.#waited = createWaits(now);
  }

  enter(signal?: StopSignal, pipeline?: Pipeline, holder: () => string = NO_HOLDER): Promise<void> | undefined {
    if (signal?.aborted) return Promise.reject(new AppError('cancelled', 'The call was cancelled before it began.'));
    if (this.#waiters.size + this.#returned.size === 0 && this.#letIn(pipeline)) {
      this.#waited.add(0);
      if (this.#pipelined > 0) this.#tellWhenShort();
      return undefined;
    }
    if (this.#waiting() >= this.#limits.queue_limit && !this.#makeRoom(holder)) {
      this.#rejected++;
      return Promise.reject(new AppError('queue_full', tooMany(this.#limits), { retry_after: 1 }));
    }
    return this.#wait(this.#waiters, signal, holder, pipeline);
  }

  again(signal?: StopSignal): Promise<void> {
    this.#letOut();
    const turn = signal?.aborted ? Promise.reject(goneWhileWaiting()) : this.#wait(this.#returned, signal, NO_HOLDER);
    // If several calls are displaced at once, the slot of the last one goes to the first.
    this.#fill();
    return turn;
  }

  slots(): number {
    return this.#slots;
  }

  leave(): void {
    this.#letOut();
    this.#completed++;
    this.#fill();
  }

  configure(next: QueueLimits): void {
    this.#limits = next;
    this.#apply();
  }

  limit(): number {
    return this.#limits.max_concurrency;
  }

  grant(part: number | null): void {
    this.#granted = part;
    this.#apply();
  }

  onShort(listener: () => void): void {
    this.#onShort = listener;
  }

  counters(): QueueCounters {
    return {
      active: this.#active - this.#pipelined,
      waiting: this.#waiting(),
      completed: this.#completed,
      rejected: this.#rejected,
      timed_out: this.#timed_out,
      waits: this.#waits,
    };
  }

  gauge(): Omit<QueueGauge, 'id'> {
    const at = performance.now();
    const under_way = [...this.#returned, ...this.#waiters].map(({ began }) => at - began);
    return {
      name: this.#limits.name,
      limit: this.#slots,
      active: this.#active - this.#pipelined,
      waiting: this.#waiting(),
      completed: this.#completed,
      rejected: this.#rejected,
      timed_out: this.#timed_out,
      longest_wait_ms: Math.max(0, ...under_way),
      waits: this.#waited.recent(under_way),
    };
  }

  #apply(): void {
    this.#slots = this.#granted === null ? this.#limits.max_concurrency : Math.min(this.#granted, this.#limits.max_concurrency);
    this.#pipelined = Math.min(this.#pipelined, Math.max(0, this.#active - this.#slots));
    this.#fill();
  }

  #fill(): void {
    const before = this.#pipelined;
    if (this.#fillFrom(this.#returned)) this.#fillFrom(this.#waiters);
    if (this.#pipelined > before) this.#tellWhenShort();
  }

  /** Called last, because the listener may grant another share at once. */
  #tellWhenShort(): void {
    if (this.#slots < this.#limits.max_concurrency) this.#onShort();
  }

  /** @returns whether all waiting calls of the line were admitted. */
  #fillFrom(line: Set<Waiter>): boolean {
    for (const waiter of line) {
      if (!this.#letIn(waiter.pipeline)) return false;
      line.delete(waiter);
      waiter.admit();
    }
    return true;
  }

  #letIn(pipeline: Pipeline | undefined): boolean {
    if (this.#active >= this.#slots) {
      if (this.#pipelined >= this.#limits.queue_limit || pipeline?.(this.#slots) !== true) return false;
      this.#pipelined++;
    }
    this.#active++;
    return true;
  }

  #letOut(): void {
    this.#active--;
    // While more calls run than there are slots, because slots were taken away, no pipelined call starts to run.
    if (this.#pipelined > 0 && this.#active - this.#pipelined < this.#slots) this.#pipelined--;
  }

  #waiting(): number {
    return this.#waiters.size + this.#returned.size + this.#pipelined;
  }

  /**
   * Rejects the newest call of the caller with the most waiting calls, if this caller has fewer. @returns whether there is room.
   */
  #makeRoom(holder: () => string): boolean {
    const counts = new Map<string, number>();
    for (const waiter of this.#waiters) counts.set(waiter.holder(), (counts.get(waiter.holder()) ?? 0) + 1);
    let [largest, most] = ['', 0];
    for (const [name, count] of counts) if (count > most) [largest, most] = [name, count];
    // Callers with equal shares do not displace each other.
    if (most <= (counts.get(holder()) ?? 0) + 1) return false;
    const newest = [...this.#waiters].findLast((waiter) => waiter.holder() === largest);
    newest?.giveUp();
    return newest !== undefined;
  }

  #wait(line: Set<Waiter>, signal: StopSignal | undefined, holder: () => string, pipeline?: Pipeline): Promise<void> {
    this.#waits++;
    let name: string | null = null;
    const began = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (error: AppError) => {
      line.delete(waiter);
      settle();
      reject(error);
    };
    const onAbort = () => leave(goneWhileWaiting());
    const timeout = this.#timeouts.add(this.#limits.queue_timeout_ms, () => {
      this.#timed_out++;
      leave(new AppError('no_free_slot', waitedTooLong(this.#limits), { retry_after: 1 }));
    });
    const settle = () => {
      timeout.clear();
      signal?.removeEventListener('abort', onAbort);
      this.#waited.add(performance.now() - began);
    };
    const waiter: Waiter = {
      pipeline,
      began,
      holder: () => (name ??= holder()),
      giveUp: () => {
        this.#rejected++;
        leave(new AppError('queue_full', tooMany(this.#limits), { retry_after: 1 }));
      },
      admit: () => {
        settle();
        resolve();
      },
    };
    signal?.addEventListener('abort', onAbort);
    line.add(waiter);
    this.#tellWhenShort();
    return promise;
  }
}

const NO_HOLDER = (): string => '';
const goneWhileWaiting = () => new AppError('cancelled', 'The call was cancelled while it waited.');
const tooMany = ({ name, max_concurrency, queue_limit }: QueueLimits): string =>
  `The connection ${name} is busy: ${max_concurrency} calls are running and ${queue_limit} are waiting. Try again in a moment, or raise max_concurrency or queue_limit of the connection.`;
const waitedTooLong = ({ name, queue_timeout_ms }: QueueLimits): string =>
  `No slot became free on the connection ${name} within ${queue_timeout_ms} ms. Try again later, or raise max_concurrency or queue_timeout_ms of the connection.`;
