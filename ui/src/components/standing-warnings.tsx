import { createEffect, createMemo, For, on, onCleanup, onMount } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { LinkButton } from './link.tsx';
import { Notice } from './notice.tsx';

/** What is risky about what is served now, on every page for as long as it is so. */
export function StandingWarnings() {
  const { router, serving } = useKernel();
  const page = createMemo(router.path);
  const look = () => void serving.reload();
  createEffect(on(page, look));
  // Others deploy too. A person comes back to the window; asking without one would keep a session from ending.
  onMount(() => window.addEventListener('focus', look));
  onCleanup(() => window.removeEventListener('focus', look));
  return (
    <For each={serving.data()?.warnings}>
      {(warning) => (
        <div class="standing">
          <Notice
            tone="brass"
            live
            title="Anyone may call every tool"
            action={
              <LinkButton href="/settings/auth" size="small" icon="shield">
                Choose an authentication
              </LinkButton>
            }
          >
            <p>{warning}</p>
          </Notice>
        </div>
      )}
    </For>
  );
}
