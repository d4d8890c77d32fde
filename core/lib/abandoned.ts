import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#core/errors.ts';

/** Throws `cancelled` if the client has disconnected. */
export function throwIfAbandoned(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true)
    throw new AppError('cancelled', 'The client disconnected before its request was carried out, so nothing was changed.');
}

/** The same, after the events of sockets: a program that was paused learns of them only then. */
export async function refuseAbandoned(signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return;
  await sleep(1);
  throwIfAbandoned(signal);
}
