import type { PlaygroundCaller } from '#core/contract/definitions/preview.ts';

export type Caller = Partial<PlaygroundCaller>;

/** Whom runs go out as. The page holds it, not its fields, which come and go. */
export interface CallerChoice {
  /** The id of a token, or one of those below. */
  readonly chosen: string;
  /** Undefined: nobody in particular. */
  readonly caller: Caller | undefined;
  /** What stands in the fields of typed values. */
  readonly typed: Caller;
}

export const NONE = '';
export const TYPED = 'typed';
export const PERSON = 'person';
export const NOBODY: CallerChoice = { chosen: NONE, caller: undefined, typed: { sub: '', groups: [], claims: {} } };
