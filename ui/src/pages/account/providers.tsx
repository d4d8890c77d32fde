import { createMemo, For, Show } from 'solid-js';
import type { LinkedAccount } from '#core/contract/identity/auth.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { startOf } from '#ui/src/features/sign-in/provider-buttons.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { WORDS } from './words.ts';

/** One's own accounts at identity providers: linked as ways of signing in, and unlinked. */
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
        title: WORDS.unlink_title(name),
        text: WORDS.unlink_text,
        action: WORDS.unlink,
      },
      () => call('auth.unlink_identity', { id: account.id }),
      WORDS.unlinked(name),
    );
  };

  return (
    <Show when={session.ways().providers.length > 0 || linked().length > 0}>
      <Section title={WORDS.providers} lead={WORDS.providers_lead}>
        <div class="stack">
          <Show when={linked().length > 0}>
            <ul class="stack account-linked" aria-label={WORDS.linked}>
              <For each={linked()}>
                {(account) => (
                  <li class="row">
                    <span>
                      {nameOf(account)}{' '}
                      <span class="small faint">
                        {account.enabled ? WORDS.last_used : WORDS.not_enabled} <Ago iso={account.last_used_at} />
                      </span>
                    </span>
                    <Button
                      size="small"
                      kind="quiet"
                      aria-label={`${WORDS.unlink} ${nameOf(account)}`}
                      onPress={() => void unlink(account)}
                    >
                      {WORDS.unlink}
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
                  Link {name}
                </a>
              )}
            </For>
          </div>
        </div>
      </Section>
    </Show>
  );
}
