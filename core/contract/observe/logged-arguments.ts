/** What the request log keeps of the arguments of one call. It is encrypted on the host, and the server stores only that. */
export interface LoggedArguments {
  /** The name that was called: what is encrypted belongs to calls of it alone. */
  readonly called: string;
  /** Those that are kept, with masked ones as their masks show them. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Names of those that are not shown as they were sent. */
  readonly masked: readonly string[];
  /** Names of those that did not fit. */
  readonly left_out: readonly string[];
}

/** What they are encrypted for: nothing that is encrypted for another thing opens as this. */
export const LOGGED_ARGUMENTS = 'logged-arguments/1';

/** Of the arguments of a call as JSON, in bytes. */
export const MOST_LOGGED = 16 * 1024;

/** `MOST_LOGGED` with the names of what is masked and left out, encrypted, as base64url. */
export const LONGEST_SEALED = 64 * 1024;
