import { onCleanup, onMount } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** Asks before the page is left while `blocked` has a sentence. */
export function useLeaveGuard(blocked: () => string | undefined): void {
  const { router } = useKernel();
  const warn = (event: BeforeUnloadEvent) => {
    if (blocked() !== undefined) event.preventDefault();
  };
  onCleanup(router.block(blocked));
  onMount(() => {
    window.addEventListener('beforeunload', warn);
    onCleanup(() => window.removeEventListener('beforeunload', warn));
  });
}
