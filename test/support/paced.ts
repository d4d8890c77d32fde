import { availableParallelism, loadavg } from 'node:os';

/**
 * How long what ends by itself may take, on a machine that does other work: the milliseconds of a quiet one, longer by what waits for a
 * processor. For what would otherwise take many times as long, or for ever.
 */
export const paced = (quiet_ms: number): number => quiet_ms * (1 + (loadavg()[0] ?? 0) / availableParallelism());
