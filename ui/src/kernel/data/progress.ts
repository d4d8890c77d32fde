import { createSignal } from 'solid-js';
import type { Progress } from '#core/contract/observe/progress.ts';
import { type Call, newKey } from '#ui/src/api.ts';
import { createPoll, type Timers } from './query.ts';

/** A call that is answered sooner shows nothing. */
const LOOK_MS = 500;

interface Followed {
  /** Undefined: nothing is known, or nothing is under way. */
  readonly progress: () => Progress | undefined;
  /** Makes a call and looks meanwhile how far it is. */
  readonly call: Call;
}

/** One long change at a time, with its progress. */
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
