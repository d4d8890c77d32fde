import type { PlaygroundCaller } from '#core/contract/definitions/preview.ts';

export type Caller = Partial<PlaygroundCaller>;

/** The caller of runs. It belongs to the page, because its fields mount and unmount. */
export interface CallerChoice {
  /** The id of a token, or one of the constants below. */
  readonly chosen: string;
  /** Undefined: no caller. */
  readonly caller: Caller | undefined;
  /** The values of the "typed" fields. */
  readonly typed: Caller;
}

export const NONE = '';
export const TYPED = 'typed';
export const PERSON = 'person';
export const NO_CALLER_CHOSEN: CallerChoice = { chosen: NONE, caller: undefined, typed: { sub: '', groups: [], claims: {} } };
