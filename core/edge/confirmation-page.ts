import { createSealing, type Sealing } from '#core/lib/sealing.ts';

/** Path of the page on which a person confirms a tool's changes if their client cannot show forms (MCP elicitation, URL mode). */
export const CONFIRM_PATH = '/confirm';

/**
 * The content of the confirmation page and its person. A host seals it into the URL and the server opens it. The URL alone
 * neither signs anyone in nor confirms anything.
 */
export interface PageQuestion {
  /** Identifies the question on its host. */
  readonly nonce: string;
  /** IDs of the person, and of the grant of the calling client. */
  readonly person: string;
  readonly grant: string;
  readonly tool: string;
  readonly title: string | null;
  /** For example `DELETE FROM notes`; null if the statement does not name exactly one table. */
  readonly statement: string | null;
  readonly direct: number | null;
  readonly all: number;
  /** Number of rows at the previous confirmation; null at the first one. */
  readonly before: number | null;
  /** Complete values, because a person must see what they confirm. */
  readonly arguments: readonly (readonly [name: string, value: string])[];
  readonly ends_at: number;
}

/** Proxies accept request lines of 8 kB. A URL of this length fits, even as the return address of a sign-in. */
export const LONGEST_QUESTION = 6_800;

export const createPageQuestions = (keys: readonly string[]): Sealing<PageQuestion> =>
  createSealing(keys, 'mcp-confirmation-pages/2', LONGEST_QUESTION);
