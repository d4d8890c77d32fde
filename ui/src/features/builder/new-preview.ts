import type { Entered } from '#ui/src/features/run/arguments.ts';
import type { Ran, RanAs, ResultOf } from './use-statement.ts';

/** A preview result with its inputs. */
interface NewPreview {
  readonly result: Ran;
  readonly result_of: ResultOf;
  readonly ran_as: RanAs;
  readonly entered: Entered;
  readonly limit: number;
}

let stored: NewPreview | undefined;

/** Stores the preview of a new definition for the page that opens after creating it. */
export const keepPreview = (preview: NewPreview): void => void (stored = preview);

/** Returns the stored preview once, if it belongs to the same statement. */
export function takePreview(queried: string): NewPreview | undefined {
  const taken = stored;
  stored = undefined;
  return taken?.result_of.queried === queried ? taken : undefined;
}
