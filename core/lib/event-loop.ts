import { setImmediate as nextTurn } from 'node:timers/promises';

/** Lets the event loop handle what has arrived at sockets and write what was sent to them. An embedded database never waits, so awaiting it does not. */
export async function turnsOfEventLoop(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn();
}
