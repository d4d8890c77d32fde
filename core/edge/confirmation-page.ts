import { createSealing, type Sealing } from '#core/lib/sealing.ts';

/** The page on which a person confirms what a tool would change, when their client shows no forms (MCP, Elicitation, URL mode). */
export const CONFIRM_PATH = '/confirm';

/** What the page shows and to whom. A host seals it into the address; the server opens it. It lets nobody in and decides nothing. */
export interface PageQuestion {
  /** Names the question for the host that asked. */
  readonly nonce: string;
  /** Ids of whom it is for, and of the grant of the client that calls. */
  readonly person: string;
  readonly grant: string;
  readonly tool: string;
  readonly title: string | null;
  /** Such as `DELETE FROM notes`; null: the statement names no single table. */
  readonly statement: string | null;
  readonly direct: number | null;
  readonly all: number;
  /** How many rows it was when the person was asked before; null: they were not. */
  readonly before: number | null;
  /** All of them in full: nobody confirms what is not shown. */
  readonly arguments: readonly (readonly [name: string, value: string])[];
  readonly ends_at: number;
}

/** Proxies take request lines of 8 kB; an address of this length stays below, also as the place to come back to after a sign-in. */
export const LONGEST_QUESTION = 6_800;

export const createPageQuestions = (keys: readonly string[]): Sealing<PageQuestion> =>
  createSealing(keys, 'mcp-confirmation-pages/2', LONGEST_QUESTION);
