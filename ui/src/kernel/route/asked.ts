import { createEffect, on } from 'solid-js';
import type { Router } from './router.ts';

/** Opens what another page asked for by `?ask=`, once. */
export function whenAsked(router: Router, wanted: string, open: () => void): void {
  createEffect(
    on(
      () => router.query().get('ask'),
      (asked) => {
        if (asked !== wanted) return;
        router.setQuery({ ask: '' });
        open();
      },
    ),
  );
}
