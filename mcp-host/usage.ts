import type { HostLine, QueueGauge } from '#core/contract/monitoring.ts';
import type { Log } from '#core/log.ts';
import type { TokenUse } from './auth/bearer.ts';
import type { LineBuffer } from './lines.ts';

/** One call as the server's metrics and request log keep it. */
export interface UsageItem {
  readonly timestamp: string;
  readonly kind: 'tool' | 'resource' | 'prompt';
  readonly name: string;
  readonly entity_id: string;
  readonly connection_id: string | null;
  readonly duration_ms: number;
  /** Time in the queue, part of the duration. */
  readonly wait_ms: number;
  readonly rows: number;
  /** Characters of the answer. */
  readonly bytes: number;
  readonly success: boolean;
  /** Error code of a failed call. */
  readonly error: string | null;
  readonly snapshot_version: number;
  readonly client: string;
  /** First characters of the access token, where the caller had one. */
  readonly token_prefix?: string | null;
}

/** Calls, log lines and queues on their way to the server: kept in memory, sent in batches, never waited for by a call. */
export interface Usage {
  add(item: UsageItem): void;
  /** Sends all there is, as long as the server takes it; for the end of the program. */
  flush(): Promise<void>;
  /** Items dropped because the server was away for too long, or refused them. */
  dropped(): number;
  close(): void;
}

export interface Batch {
  readonly seq: number;
  readonly items: readonly UsageItem[];
  readonly lines: readonly HostLine[];
  readonly queues?: readonly QueueGauge[];
  readonly token_uses?: readonly TokenUse[];
}

export interface UsageOptions {
  /** Rejects when the server did not take the batch; it is sent again with the same `seq`, unless the error has a status that says never. */
  readonly send: (batch: Batch) => Promise<void>;
  readonly log: Log;
  readonly lines: LineBuffer;
  readonly queues: () => QueueGauge[];
  /** Uses of access tokens to report now; each is handed over once. */
  readonly takeUses?: () => TokenUse[];
  readonly interval_ms?: number;
  /** Queues are reported at least so often. */
  readonly heartbeat_ms?: number;
  readonly capacity?: number;
  readonly batch_size?: number;
}

/** The server will refuse the same batch again. */
const REFUSED: ReadonlySet<unknown> = new Set([400, 413, 415, 422]);

export function createUsage({
  send,
  log,
  lines,
  queues,
  takeUses = () => [],
  interval_ms = 300,
  heartbeat_ms = 5_000,
  capacity = 10_000,
  batch_size = 1_000,
}: UsageOptions): Usage {
  let waiting: UsageItem[] = [];
  let batch: Batch | null = null;
  let seq = 0;
  let dropped = 0;
  let reported = '';
  let reported_at = Number.NEGATIVE_INFINITY;
  let sending: Promise<void> | null = null;

  /** The queues when they changed, or when it is time to say that they are still the same. */
  const report = (): QueueGauge[] | null => {
    const gauges = queues();
    const mark = gauges.map(markOf).join();
    if (mark === reported && performance.now() - reported_at < heartbeat_ms) return null;
    reported = mark;
    reported_at = performance.now();
    return gauges;
  };
  const nextBatch = (): Batch | null => {
    const gauges = report();
    const token_uses = takeUses();
    if (waiting.length === 0 && lines.count() === 0 && gauges === null && token_uses.length === 0) return null;
    const items = waiting.slice(0, batch_size);
    waiting = waiting.slice(batch_size);
    const uses = token_uses.length === 0 ? {} : { token_uses };
    return { seq: ++seq, items, lines: lines.take(), ...(gauges && { queues: gauges }), ...uses };
  };
  /** @returns whether there is more that the server would take now. */
  const sendNext = async (): Promise<boolean> => {
    const current = (batch ??= nextBatch());
    if (current === null) return false;
    try {
      await send(current);
      batch = null;
    } catch (error) {
      const { status } = error as { status?: unknown };
      if (!REFUSED.has(status)) {
        log.debug('usage_not_sent', { error: String(error) });
        return false;
      }
      log.error('usage_refused', { status, items: current.items.length });
      dropped += current.items.length;
      batch = null;
    }
    return waiting.length > 0;
  };
  const sendAll = async () => {
    while (await sendNext());
  };
  const tick = (): Promise<void> =>
    (sending ??= sendAll().finally(() => {
      sending = null;
    }));
  const timer = setInterval(() => void tick(), interval_ms);
  timer.unref();

  return {
    add(item) {
      if (waiting.length >= capacity) {
        const surplus = waiting.length - capacity + Math.ceil(capacity / 10);
        waiting = waiting.slice(surplus);
        dropped += surplus;
      }
      waiting.push(item);
    },
    async flush() {
      await sending;
      await tick();
    },
    dropped: () => dropped,
    close: () => clearInterval(timer),
  };
}

const markOf = ({ id, limit, active, waiting, completed, rejected, timed_out }: QueueGauge): string =>
  `${id} ${limit} ${active} ${waiting} ${completed} ${rejected} ${timed_out}`;
