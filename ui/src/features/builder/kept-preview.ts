import type { Entered } from '#ui/src/features/run/arguments.ts';
import type { Ran, RanAs, ResultOf } from './use-statement.ts';

/** A result with everything that it was asked with. */
interface KeptPreview {
  readonly result: Ran;
  readonly result_of: ResultOf;
  readonly ran_as: RanAs;
  readonly entered: Entered;
  readonly limit: number;
}

let kept: KeptPreview | undefined;

/** Keeps the preview of something new for the page that shows it once it is created. */
export const keepPreview = (preview: KeptPreview): void => void (kept = preview);

/** The kept preview, once, when it is of the same statement. */
export function takePreview(queried: string): KeptPreview | undefined {
  const taken = kept;
  kept = undefined;
  return taken?.result_of.queried === queried ? taken : undefined;
}
