import { createEffect, on, onCleanup, onMount } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** A page that is loaded again needs a moment until it is as long as it was. */
const PATIENCE_MS = 1_500;

/** Going on begins at the top, with the focus on the content; going back returns to where one was. */
export function keepScroll(): void {
  const { router } = useKernel();
  const places = new Map<number, number>();
  let at = router.arrival().index;
  let path = router.path();
  const remember = () => void places.set(at, window.scrollY);

  onMount(() => {
    window.history.scrollRestoration = 'manual';
    window.addEventListener('scroll', remember, { passive: true });
    onCleanup(() => window.removeEventListener('scroll', remember));
  });
  createEffect(
    on(
      router.arrival,
      ({ kind, index }) => {
        const moved = router.path() !== path;
        at = index;
        path = router.path();
        if (kind === 'pop') returnTo(places.get(index) ?? 0);
        else if (moved) {
          window.scrollTo(0, 0);
          document.querySelector<HTMLElement>('#main')?.focus({ preventScroll: true });
        }
      },
      { defer: true },
    ),
  );
}

function returnTo(top: number): void {
  const until = performance.now() + PATIENCE_MS;
  const attempt = () => {
    window.scrollTo(0, top);
    if (Math.abs(window.scrollY - top) > 1 && performance.now() < until) requestAnimationFrame(attempt);
  };
  attempt();
}
