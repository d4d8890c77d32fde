import type { LoggedArguments } from '#core/contract/observe/logged-arguments.ts';
import type { CallGroup } from '#core/contract/observe/usage-batch.ts';

/** The arguments of a call for the request log, and their size in bytes. */
export interface ArgumentNote {
  readonly logged: LoggedArguments;
  readonly bytes: number;
}

/** The note with names only, for a host that has reached its limit of stored arguments. */
export const withoutValues = ({ logged }: ArgumentNote): ArgumentNote => ({
  logged: { ...logged, arguments: {}, left_out: [...Object.keys(logged.arguments), ...logged.left_out] },
  bytes: 0,
});

/** Why a call failed, as the request log stores it. */
export interface LoggedFault {
  readonly code: string;
  readonly message: string;
  readonly sqlstate: string | null;
}

/** One call for the server's metrics and request log. */
export interface UsageItem {
  /** The called definition and its caller, shared by many calls and sent once per batch. */
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
  /** Estimated tokens of the answer. */
  readonly tokens: number;
  /** Whether the result ended at a limit. */
  readonly truncated: boolean;
  /** Why it failed. */
  readonly fault: LoggedFault | null;
  /** The trace that the call is part of. */
  trace_id: string | null;
  /** Names of undeclared arguments that were ignored. */
  readonly ignored_arguments: readonly string[];
  /** The sent arguments; null: the tool does not log them. */
  readonly arguments: ArgumentNote | null;
}
