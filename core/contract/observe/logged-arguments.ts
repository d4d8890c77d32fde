/** The logged arguments of one call. The host encrypts them, and the server stores only the ciphertext. */
export interface LoggedArguments {
  /** Name of the called tool, so that the ciphertext cannot be moved to a call of another one. */
  readonly called: string;
  /** Logged arguments; masked ones have their masked values. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Names of the masked arguments. */
  readonly masked: readonly string[];
  /** Names of the arguments that exceeded the size limit. */
  readonly left_out: readonly string[];
}

/** Purpose of the encryption: ciphertexts for other purposes cannot be decrypted with it. */
export const LOGGED_ARGUMENTS = 'logged-arguments/1';

/** Maximum bytes of a call's arguments as JSON. */
export const MOST_LOGGED = 16 * 1024;

/** Maximum characters as base64url, encrypted, including the names of masked and omitted arguments. */
export const LONGEST_SEALED = 64 * 1024;
