import { createSignal } from 'solid-js';
import type { Call } from '../api.ts';
import type { Storage } from './storage.ts';

export const FIRST_STEPS = ['connect', 'tool', 'deploy', 'client'] as const;
export type FirstStep = (typeof FIRST_STEPS)[number];

export interface FirstRun {
  /** The completed steps; undefined before the first request. */
  readonly done: () => ReadonlySet<FirstStep> | undefined;
  /** The first incomplete step. */
  readonly next: () => FirstStep | undefined;
  /** Whether to show the checklist of first steps. */
  readonly shown: () => boolean;
  /** Requests the progress from the server; after completion or dismissal only when `always`. */
  readonly reload: (always?: boolean) => Promise<void>;
  readonly dismiss: () => void;
  /** Starts over for a new installation, even if this browser remembers an older one. */
  readonly begin: () => void;
}

const KEY = 'first_run';

/** The progress of a new installation: a connection, a tool, a deployed version, a client call. */
export function createFirstRun(call: Call, storage: Storage): FirstRun {
  const [done, setDone] = createSignal<ReadonlySet<FirstStep>>();
  const [over, setOver] = createSignal(storage.read(KEY) === 'over');
  const end = () => {
    setOver(true);
    storage.write(KEY, 'over');
  };
  let asking: Promise<void> | undefined;

  const ask = async () => {
    try {
      const [connections, tools, status, calls] = await Promise.all([
        call('connections.list', { limit: 1 }),
        call('tools.list', { limit: 1 }),
        call('deploy.status', {}),
        call('logs.list', { limit: 1 }),
      ]);
      const found = {
        connect: connections.total > 0,
        tool: tools.total > 0,
        deploy: status.snapshot_version !== null,
        client: calls.total > 0,
      };
      const finished = FIRST_STEPS.filter((step) => found[step]);
      setDone(new Set(finished));
      if (finished.length === FIRST_STEPS.length) end();
    } catch {
      // The next page retries; pages report their errors themselves.
    }
  };

  return {
    done,
    next: () => FIRST_STEPS.find((step) => done()?.has(step) === false),
    shown: () => !over() && done() !== undefined,
    async reload(always = false) {
      if (over() && !always) return;
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      await asking;
    },
    dismiss: end,
    begin() {
      setOver(false);
      storage.write(KEY, undefined);
    },
  };
}
