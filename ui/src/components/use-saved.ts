import { useKernel } from '#ui/src/kernel/kernel.ts';

/** Says that something is stored, next to the way to deploy it. */
export function useSaved(): (text: string) => void {
  const { router, toasts } = useKernel();
  return (text) => toasts.show(text, 'good', { action: { label: 'Deploy', run: () => router.navigate('/deploy') } });
}
