import { AppError } from '#core/errors.ts';

export interface Deadline {
  /** Aborted with the AppError to reject with: `timeout` when time is up, `cancelled` when the caller went away. */
  readonly signal: AbortSignal;
  clear(): void;
}

/** One signal for both ends of a call: its time limit (milliseconds) and the caller's own signal. */
export function openDeadline(timeout_ms: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController();
  const cancel = () => controller.abort(new AppError('cancelled', 'The caller went away, so the statement was cancelled.'));
  const expire = () =>
    controller.abort(new AppError('timeout', `The statement did not finish within ${timeout_ms} ms and was stopped.`));
  if (caller?.aborted) cancel();
  const timer = setTimeout(expire, timeout_ms);
  caller?.addEventListener('abort', cancel, { once: true });
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', cancel);
    },
  };
}
