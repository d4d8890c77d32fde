import { turnsOfEventLoop } from './slices.ts';
import { AppError } from '#core/errors.ts';

/** Throws `cancelled` if the client has disconnected. */
export function throwIfAbandoned(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true)
    throw new AppError('cancelled', 'The client disconnected before its request was carried out, so nothing was changed.');
}

/** A program that was paused knows after the second one that a client has disconnected. */
const TURNS = 3;

/** The same, after the events of sockets. */
export async function refuseAbandoned(signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return;
  await turnsOfEventLoop(TURNS);
  throwIfAbandoned(signal);
}
