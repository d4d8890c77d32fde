import type { LoggedArguments } from '#core/contract/observe/logged-arguments.ts';
import type { CallGroup } from '#core/contract/observe/usage-batch.ts';

/** What the request log keeps of what a call sent, and how many bytes that is. */
export interface ArgumentNote {
  readonly logged: LoggedArguments;
  readonly bytes: number;
}

/** The same when the host already holds more than it may: the names alone. */
export const withoutValues = ({ logged }: ArgumentNote): ArgumentNote => ({
  logged: { ...logged, arguments: {}, left_out: [...Object.keys(logged.arguments), ...logged.left_out] },
  bytes: 0,
});

/** Why a call failed, in the words that the request log keeps. */
export interface LoggedFault {
  readonly code: string;
  readonly message: string;
  readonly sqlstate: string | null;
}

/** One call as the server's metrics and request log keep it. */
export interface UsageItem {
  /** What was called, and by whom: the same in many calls, and sent once in a batch. */
  readonly of: CallGroup;
  /** When it ended, in ms since 1970. */
  readonly timestamp: number;
  readonly duration_ms: number;
  /** Time in the queue, part of the duration. */
  readonly wait_ms: number;
  /** Time in the database, part of the duration. */
  readonly database_ms: number;
  readonly rows: number;
  /** Characters of the answer. */
  readonly bytes: number;
  /** What the answer costs a model, about. */
  readonly tokens: number;
  /** Whether the result ended at a limit. */
  readonly truncated: boolean;
  /** Why it failed. */
  readonly fault: LoggedFault | null;
  /** The trace that it is part of. */
  trace_id: string | null;
  /** Names of arguments that its tool does not declare, when it was answered without them. */
  readonly ignored_arguments: readonly string[];
  /** What it sent; null: its tool does not log that. */
  readonly arguments: ArgumentNote | null;
}
