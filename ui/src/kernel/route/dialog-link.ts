import { createEffect, on } from 'solid-js';
import type { Router } from './router.ts';

/** Calls `open` once when another page requested it by `?ask=`. */
export function onDialogLink(router: Router, dialog: string, open: () => void): void {
  createEffect(
    on(
      () => router.query().get('ask'),
      (requested) => {
        if (requested !== dialog) return;
        router.setQuery({ ask: '' });
        open();
      },
    ),
  );
}
