import { useKernel } from '#ui/src/kernel/kernel.ts';

/** Copies a text; says what came of it. */
export function useCopy() {
  const { toasts } = useKernel();
  return async (text: string, said?: string): Promise<boolean> => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      toasts.show('The browser does not allow copying here. Select the text and copy it by hand.', 'bad');
      return false;
    }
    if (said !== undefined) toasts.show(said);
    return true;
  };
}
