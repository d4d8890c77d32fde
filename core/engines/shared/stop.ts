import { AppError } from '#core/errors.ts';

/** The part of AbortSignal that calls use. Every AbortSignal satisfies it. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Milliseconds that a database gets to end a stopped statement before its caller gets an answer anyway. */
export const STOP_GRACE_MS = 300;

/** Controller and signal in one plain object. Every call creates one and few are aborted, so it must be cheap. */
export class Stop implements StopSignal {
  aborted = false;
  reason: unknown = undefined;
  readonly #listeners: (() => void)[] = [];

  abort(reason: unknown = new AppError('cancelled', 'The call was cancelled.')): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (const listener of this.#listeners.splice(0)) listener();
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /** A listener is called at most once. */
  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const index = this.#listeners.indexOf(listener);
    if (index >= 0) this.#listeners.splice(index, 1);
  }
}

/** For APIs that require a real AbortSignal, such as dialling a socket. */
export function toAbortSignal(signal: StopSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort(signal.reason);
  else signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
  return controller.signal;
}
