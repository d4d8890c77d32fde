import { useFixed } from '#ui/src/components/form/fixed.tsx';
import type { FormSchema } from '#ui/src/kernel/form/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { isAdministered } from './kind.ts';

export const ADMINISTERED = 'Only administrators can change this.';

/** Whether a field is one that this person sees in a form and cannot change there. */
export function useAdministered(schema: FormSchema, name: string): () => boolean {
  const { session } = useKernel();
  const is_all_fixed = useFixed();
  const administered = isAdministered(schema, name);
  return () => administered && !is_all_fixed() && !session.may('config.update');
}
