import { DRILL_WARNING } from '#core/contract/deploy/drill.ts';
import { DRIFT_WARNING } from '#core/contract/deploy/drift.ts';
import { createEffect, createSignal, For, Show } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { browserStorage } from '#ui/src/kernel/storage.ts';
import { Button } from '#ui/src/components/button.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';

const KEY = 'folded_warnings';
/** How warnings begin that are not about who can call. */
const KNOWN = [DRILL_WARNING, DRIFT_WARNING];

/** A collapsible notice on every page with the current risks of the served configuration. */
export function StandingWarnings() {
  const { serving, session } = useKernel();
  createEffect(() => {
    if (session.may('deploy.status')) void serving.show();
  });
  const warnings = () => serving.data()?.warnings ?? [];
  const isExposed = () => warnings().some((warning) => !KNOWN.some((start) => warning.startsWith(start)));
  const [folded, setFolded] = createSignal(browserStorage.read(KEY));
  // A new warning expands the collapsed notice.
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
          title={isExposed() ? 'Anyone can call every tool' : KNOWN.find((start) => warnings()[0]?.startsWith(start))}
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
