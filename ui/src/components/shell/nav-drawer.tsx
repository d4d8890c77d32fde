import * as Kobalte from '@kobalte/core/dialog';
import type { JSX } from 'solid-js';

/** The navigation on a narrow window. */
export function NavDrawer(props: { onClose: () => void; children: JSX.Element }) {
  return (
    <Kobalte.Root
      open
      onOpenChange={(open) => {
        if (!open) props.onClose();
      }}
    >
      <Kobalte.Portal>
        <Kobalte.Overlay class="overlay" />
        <Kobalte.Content class="nav-drawer" aria-label="Menu">
          {props.children}
        </Kobalte.Content>
      </Kobalte.Portal>
    </Kobalte.Root>
  );
}
