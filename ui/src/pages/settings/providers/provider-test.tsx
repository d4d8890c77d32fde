import { For, Show } from 'solid-js';
import { type IdentityProvider, PROVIDER_CHECKS, type ProviderCheck } from '#core/contract/identity/identity-providers.ts';
import { Icon, type IconName } from '#ui/src/components/icon.tsx';
import { Failed, Notice } from '#ui/src/components/notice.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createQuery } from '#ui/src/kernel/data/query.ts';

const ICONS: Readonly<Record<ProviderCheck['status'], IconName>> = {
  passed: 'check',
  warning: 'alert',
  failed: 'close',
  skipped: 'minus',
};

/** Everything that a sign-in will need of a provider, step by step. */
export function ProviderTest(props: { provider: IdentityProvider }) {
  const { call } = useKernel();
  const test = createQuery((signal) => call('identity_providers.test', { id: props.provider.id }, signal));
  void test.reload();
  return (
    <Show when={!test.pending()} fallback={<SkeletonList rows={5} label="Contacting the provider" />}>
      <Failed of={test} />
      <Show when={test.data()}>
        {(tested) => (
          <div class="stack">
            <Notice
              tone={tested().success ? 'good' : 'bad'}
              live
              title={tested().success ? 'The provider is ready for sign-ins' : 'Sign-ins will fail'}
            />
            <ol class="stack provider-checks" data-gap="3">
              <For each={tested().checks}>
                {({ check, status, message }) => (
                  <li data-status={status}>
                    <Icon name={ICONS[status]} />
                    <span>
                      <strong>{PROVIDER_CHECKS[check].label}</strong>
                      <span class="small soft">{message}</span>
                    </span>
                  </li>
                )}
              </For>
            </ol>
          </div>
        )}
      </Show>
    </Show>
  );
}
