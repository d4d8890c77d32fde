import { untrack } from 'solid-js';
import { useFixed } from '#ui/src/components/form/fixed.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
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

/** Names people who can do what this person's role does not allow. @param needed read when the component is created. */
export function useAskAdministrator(needed: () => boolean): () => string {
  if (!untrack(needed)) return () => 'Ask an administrator.';
  const found = useQuery((read) => read('home.administrators', {}));
  return () => {
    const names = found.data()?.names ?? [];
    return names.length === 0 ? 'Ask an administrator.' : `Ask an administrator: ${names.join(', ')}.`;
  };
}
