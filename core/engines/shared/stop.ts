import { AppError } from '#core/errors.ts';

/** The part of an AbortSignal that calls use; every AbortSignal is one. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Milliseconds that a database gets to end a statement which is stopped, before its caller is answered all the same. */
export const STOP_GRACE = 300;

/** Controller and signal in one plain object, for what every call needs and hardly any call uses. */
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

  /** Every listener is called once at most. */
  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const place = this.#listeners.indexOf(listener);
    if (place >= 0) this.#listeners.splice(place, 1);
  }
}

/** For what wants the platform's own, such as a dialled socket. */
export function toAbortSignal(signal: StopSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort(signal.reason);
  else signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
  return controller.signal;
}
