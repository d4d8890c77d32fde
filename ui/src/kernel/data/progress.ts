import { createSignal } from 'solid-js';
import type { Progress } from '#core/contract/observe/progress.ts';
import { type Call, newKey } from '#ui/src/api.ts';
import { createPoll, type Timers } from './query.ts';

/** Poll interval; a faster call shows no progress. */
const LOOK_MS = 500;

interface Followed {
  /** Undefined: unknown, or no call is running. */
  readonly progress: () => Progress | undefined;
  /** Makes a call and polls its progress. */
  readonly call: Call;
}

/** One long-running change at a time, with its progress. */
export function createProgress(call: Call, timers?: Timers): Followed {
  const [progress, setProgress] = createSignal<Progress>();
  let current: string | undefined;
  return {
    progress,
    async call(name, input, signal, file) {
      const request_id = newKey();
      current = request_id;
      setProgress(undefined);
      const poll = createPoll({
        every_ms: LOOK_MS,
        visible: () => true,
        ...(timers === undefined ? {} : { timers }),
        run: async () => {
          const found = await call('progress.get', { request_id }, signal).catch(() => undefined);
          if (current === request_id) setProgress(found?.progress ?? undefined);
        },
      });
      poll.start();
      try {
        return await call(name, input, signal, file, request_id);
      } finally {
        poll.stop();
        if (current === request_id) {
          current = undefined;
          setProgress(undefined);
        }
      }
    },
  };
}
