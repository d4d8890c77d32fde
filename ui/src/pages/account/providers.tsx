import { createMemo, For, Show } from 'solid-js';
import type { LinkedAccount } from '#core/contract/identity/auth.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { startOf } from '#ui/src/features/sign-in/provider-buttons.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** The person's accounts at identity providers: link them for sign-in, or unlink them. */
export function Providers() {
  const { call, session } = useKernel();
  const { ask } = useAct();
  const list = useQuery((read) => read('auth.identities', {}));
  const linked = createMemo(() => list.data()?.items ?? []);
  const nameOf = ({ provider, issuer }: LinkedAccount): string => provider ?? new URL(issuer).host;

  const unlink = async (account: LinkedAccount) => {
    const name = nameOf(account);
    await ask(
      {
        title: `Unlink ${name}?`,
        text: 'You can no longer sign in with it. You can link it again.',
        action: 'Unlink',
      },
      () => call('auth.unlink_identity', { id: account.id }),
      `Unlinked ${name}.`,
    );
  };

  return (
    <Show when={session.ways().providers.length > 0 || linked().length > 0}>
      <Section
        title="Identity providers"
        lead="Link your account at a provider to sign in with it. Linking needs a sign-in within the last ten minutes."
      >
        <div class="stack">
          <Show when={linked().length > 0}>
            <ul class="stack account-linked" aria-label="Linked accounts">
              <For each={linked()}>
                {(account) => (
                  <li class="row">
                    <span>
                      <bdi>{nameOf(account)}</bdi>{' '}
                      <span class="small faint">
                        {account.enabled ? 'Last used' : 'Provider is not enabled. Last used'} <Ago iso={account.last_used_at} />
                      </span>
                    </span>
                    <Button size="small" kind="quiet" aria-label={`Unlink ${nameOf(account)}`} onPress={() => unlink(account)}>
                      Unlink
                    </Button>
                  </li>
                )}
              </For>
            </ul>
          </Show>
          <div class="row">
            <For each={session.ways().providers}>
              {({ id, name }) => (
                <a class="button" href={startOf(id, '/account', true)}>
                  <span>
                    Link <bdi>{name}</bdi>
                  </span>
                </a>
              )}
            </For>
          </div>
        </div>
      </Section>
    </Show>
  );
}
