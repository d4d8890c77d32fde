import { createEffect, createMemo, on, Show } from 'solid-js';
import { FIRST_STEPS } from '#ui/src/kernel/first-run.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { IconButton } from '#ui/src/components/button.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';

const NEXT = {
  connect: 'Connect a database',
  tool: 'Create a tool',
  deploy: 'Deploy it',
  client: 'Connect your client',
} as const;

/** How far the first steps are and which is next, wherever one is, until they are done or were dismissed. */
export function FirstRunStrip(props: { onFollow?: () => void }) {
  const { first_run, router, serving, session } = useKernel();
  // Not for another query of the same page.
  const path = createMemo(() => router.path());
  // A deploy, here or elsewhere, is a step that needs no other page.
  const version = createMemo(() => serving.data()?.snapshot_version);
  createEffect(
    on([path, session.state, version], ([at, state], before) => {
      // The version that is live when the page opens is no deploy.
      const is_first = before !== undefined && before[0] === at && before[1] === state && before[2] === undefined;
      if (!is_first && state === 'signed_in' && session.may('config.update')) void first_run.reload();
    }),
  );
  const done = () => first_run.done()?.size ?? 0;
  return (
    <Show when={first_run.shown() && path() !== '/welcome' && first_run.next()}>
      {(next) => (
        <div class="first-run">
          <Link href="/welcome" class="first-run-link" onFollow={() => props.onFollow?.()}>
            <span class="first-run-count num">
              First steps: {done()} of {FIRST_STEPS.length}
            </span>
            <span class="first-run-next">{NEXT[next()]}</span>
            <progress class="first-run-bar" max={FIRST_STEPS.length} value={done()} aria-label="First steps done" />
          </Link>
          <IconButton
            ref={passesFocus}
            icon="close"
            size="small"
            label="Hide the first steps"
            onPress={() => first_run.dismiss()}
          />
        </div>
      )}
    </Show>
  );
}
