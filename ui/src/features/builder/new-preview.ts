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

/** By the kernel of the page. */
const stored = new WeakMap<object, NewPreview>();

/** Stores the preview of a new definition for the page that opens after creating it. */
export const keepPreview = (kernel: object, preview: NewPreview): void => void stored.set(kernel, preview);

/** Returns the stored preview once, if it belongs to the same statement. */
export function takePreview(kernel: object, queried: string): NewPreview | undefined {
  const taken = stored.get(kernel);
  stored.delete(kernel);
  return taken?.result_of.queried === queried ? taken : undefined;
}
