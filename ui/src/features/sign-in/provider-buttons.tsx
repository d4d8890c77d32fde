import { For, Show } from 'solid-js';
import { Icon } from '#ui/src/components/icon.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** Where a sign-in through a provider begins; the browser leaves this page, and comes back to `next`. */
export const startOf = (provider_id: string, next: string, link = false): string => {
  const query = new URLSearchParams({ return_to: next, ...(link ? { link: 'true' } : {}) });
  return `/api/v1/auth/oidc/${encodeURIComponent(provider_id)}/start?${query}`;
};

/** One button for each identity provider. */
export function ProviderButtons(props: { next: string }) {
  const { session } = useKernel();
  return (
    <Show when={session.ways().providers.length > 0}>
      <div class="stack provider-buttons">
        <For each={session.ways().providers}>
          {({ id, name }) => (
            <a class="button" href={startOf(id, props.next)}>
              <Icon name="key" />
              <span>
                Continue with <bdi>{name}</bdi>
              </span>
            </a>
          )}
        </For>
      </div>
    </Show>
  );
}
