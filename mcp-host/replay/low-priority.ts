import { AppError } from '#core/errors.ts';
import { Stop, type StopSignal } from '#core/engines/shared/stop.ts';
import type { Slot } from '#core/query/query.ts';
import type { Queue } from '#mcp-host/connections/queue.ts';

/** How often the queue is checked for room and for waiting calls of clients. */
const LOOK_MS = 20;

/** Thrown when a call of a client waits: the work gives its slot back and starts again later. */
export class Displaced extends Error {
  override readonly name = 'Displaced';
}

/** Slots of a connection for work that must not delay calls: at most half of them, and none while a call waits. */
export interface LowPriority {
  readonly slot: Slot;
  /** Runs work that stops when a call of a client waits. Rejects with `Displaced` then. */
  giveWay<T>(stop: StopSignal, work: (signal: StopSignal) => Promise<T>): Promise<T>;
}

export function lowPriority(queue: Queue): LowPriority {
  const hasRoom = (): boolean => {
    const { active, waiting } = queue.counters();
    return waiting === 0 && active < Math.max(1, Math.floor(queue.slots() / 2));
  };
  return {
    slot: {
      async enter(signal) {
        while (!hasRoom()) {
          if (signal?.aborted === true) throw new AppError('cancelled', 'The replay ended before there was room for this call.');
          await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
        }
        await queue.enter(signal);
      },
      again: (signal) => queue.again(signal),
      leave: () => queue.leave(),
      slots: () => queue.slots(),
    },
    async giveWay(stop, work) {
      const signal = new Stop();
      const onStop = () => signal.abort(stop.reason);
      if (stop.aborted) onStop();
      stop.addEventListener('abort', onStop, { once: true });
      let displaced = false;
      const look = setInterval(() => {
        if (queue.counters().waiting === 0) return;
        displaced = true;
        signal.abort();
      }, LOOK_MS);
      try {
        return await work(signal);
      } catch (error) {
        if (displaced && !stop.aborted) throw new Displaced('A call of a client waits.');
        throw error;
      } finally {
        clearInterval(look);
        stop.removeEventListener('abort', onStop);
      }
    },
  };
}
