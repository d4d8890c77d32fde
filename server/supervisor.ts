import { type Log, reasonOf } from '#core/process/log.ts';

export interface Supervised {
  /** Ends the program: SIGTERM, and SIGKILL after the grace period. */
  stop(grace_ms: number): Promise<void>;
  pid(): number | null;
  /** Sends a message while the program runs. */
  send(message: unknown): void;
}

export interface SupervisorHooks {
  readonly onMessage?: (message: unknown) => void;
  /** Called when the program ended and before it is started again. */
  readonly onEnd?: (code: number) => void;
}

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 5_000;
const STEADY_MS = 10_000;

/** Runs a program and restarts it when it ends, first after 0.2 s, then with growing delays up to 5 s. */
export function supervise(
  name: string,
  command: readonly string[],
  environment: Record<string, string | undefined>,
  log: Log,
  { onMessage, onEnd }: SupervisorHooks = {},
): Supervised {
  let stopping = false;
  let delay = FIRST_DELAY_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let child: Bun.Subprocess | null = null;
  const startLater = (message: string, fields: Record<string, unknown>) => {
    log.warning(message, { name, ...fields, delay_ms: delay });
    timer = setTimeout(start, delay);
    delay = Math.min(delay * 2, LONGEST_DELAY_MS);
  };
  const start = () => {
    const started = performance.now();
    let spawned: Bun.Subprocess;
    try {
      spawned = Bun.spawn([...command], {
        env: environment,
        stdin: 'ignore',
        stdout: 'inherit',
        stderr: 'inherit',
        // When the channel closes, the child knows that its parent has ended, for whatever reason.
        ipc: (message) => onMessage?.(message),
      });
    } catch (error) {
      // No memory or process number is free, or the program is being replaced.
      return startLater('program could not be started; trying again', { reason: reasonOf(error) });
    }
    child = spawned;
    void spawned.exited.then((code) => {
      child = null;
      if (stopping) return;
      onEnd?.(code);
      if (performance.now() - started > STEADY_MS) delay = FIRST_DELAY_MS;
      startLater('program ended; restarting it', { code, signal: spawned.signalCode });
    });
  };
  start();
  return {
    pid: () => child?.pid ?? null,
    send: (message) => child?.send(message),
    async stop(grace_ms) {
      stopping = true;
      clearTimeout(timer);
      if (child === null) return;
      const running = child;
      running.kill('SIGTERM');
      const kill = setTimeout(() => running.kill('SIGKILL'), grace_ms);
      await running.exited;
      clearTimeout(kill);
    },
  };
}
