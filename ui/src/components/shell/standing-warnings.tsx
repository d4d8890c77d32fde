import { DRIFT_WARNING } from '#core/contract/deploy/drift.ts';
import { createEffect, createMemo, createSignal, For, on, onCleanup, onMount, Show } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { browserStorage } from '#ui/src/kernel/storage.ts';
import { Button } from '#ui/src/components/button.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';

const KEY = 'folded_warnings';

/** What is risky about what is served now, on every page for as long as it is so; one notice, which a person may fold. */
export function StandingWarnings() {
  const { cache, router, serving, session } = useKernel();
  const page = createMemo(router.path);
  const look = () => {
    if (session.may('deploy.status')) void serving.show();
  };
  createEffect(on(page, look));
  // Others deploy too. A person comes back to the window; asking without one would keep a session from ending.
  onMount(() => window.addEventListener('focus', look));
  onCleanup(() => window.removeEventListener('focus', look));
  // Somebody else changed or deployed something: the flow, which nobody polls, is read again where it is shown.
  const known = createMemo(() => {
    const status = serving.data();
    return status && `${status.snapshot_version} ${status.pending_checksum}`;
  });
  createEffect(on(known, (_, before) => before !== undefined && cache.invalidate(['flow'])));
  const warnings = () => serving.data()?.warnings ?? [];
  const isExposed = () => warnings().some((warning) => !warning.startsWith(DRIFT_WARNING));
  const [folded, setFolded] = createSignal(browserStorage.read(KEY));
  // Another warning than the folded one shows itself.
  const isFolded = () => folded() === warnings().join('\n');
  const fold = (on: boolean) => {
    const value = on ? warnings().join('\n') : undefined;
    setFolded(value);
    browserStorage.write(KEY, value);
  };
  return (
    <Show when={warnings().length > 0}>
      <div class="standing" data-folded={isFolded() ? 'true' : undefined}>
        <Notice
          tone="warning"
          live
          title={isExposed() ? 'Anyone can call every tool' : 'Deployed definitions no longer fit their tables'}
          action={
            <>
              <Show when={isExposed()}>
                <LinkButton href="/settings/auth" size="small" icon="shield">
                  Choose authentication
                </LinkButton>
              </Show>
              <Button kind="quiet" size="small" aria-expanded={!isFolded()} onPress={() => fold(!isFolded())}>
                {isFolded() ? 'Details' : 'Hide details'}
              </Button>
            </>
          }
        >
          <Show when={!isFolded()}>
            <For each={warnings()}>{(warning) => <p>{warning}</p>}</For>
          </Show>
        </Notice>
      </div>
    </Show>
  );
}
