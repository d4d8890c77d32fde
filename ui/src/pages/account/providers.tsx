import { For, Show } from 'solid-js';
import { Section } from '#ui/src/components/panel.tsx';
import { startOf } from '#ui/src/features/sign-in/provider-buttons.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** Adds the account at an identity provider as a way of signing in. */
export function Providers() {
  const { session } = useKernel();
  return (
    <Show when={session.ways().providers.length > 0}>
      <Section
        title="Identity providers"
        lead="Link your account at a provider to sign in with it. This needs a sign-in of the last ten minutes."
      >
        <div class="row">
          <For each={session.ways().providers}>
            {({ id, name }) => (
              <a class="button" href={startOf(id, '/account', true)}>
                Link {name}
              </a>
            )}
          </For>
        </div>
      </Section>
    </Show>
  );
}
