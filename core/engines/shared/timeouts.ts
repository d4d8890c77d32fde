/** Timers of calls. Nearly all are cleared before they are due, so calls with the same duration share one real timer. */
export interface Timeouts {
  add(ms: number, due: () => void): Timeout;
}

export interface Timeout {
  clear(): void;
}

interface Entry {
  readonly at: number;
  readonly due: () => void;
}

/** Entries with the same duration, in the order in which they are due. */
interface TimeoutQueue {
  readonly entries: Set<Entry>;
  running: boolean;
}

export function createTimeouts(): Timeouts {
  const queues = new Map<number, TimeoutQueue>();

  const run = (queue: TimeoutQueue, ms: number): void => {
    queue.running = true;
    setTimeout(() => fire(queue), ms).unref();
  };
  const fire = (queue: TimeoutQueue): void => {
    queue.running = false;
    for (const entry of queue.entries) {
      const remaining = entry.at - performance.now();
      if (remaining > 0) return run(queue, Math.ceil(remaining));
      queue.entries.delete(entry);
      entry.due();
    }
  };

  return {
    add(ms, due) {
      let queue = queues.get(ms);
      if (queue === undefined) queues.set(ms, (queue = { entries: new Set(), running: false }));
      const { entries } = queue;
      const entry = { at: performance.now() + ms, due };
      entries.add(entry);
      if (!queue.running) run(queue, ms);
      return { clear: () => void entries.delete(entry) };
    },
  };
}
