import { onMount, Show } from 'solid-js';
import { Fault } from '#ui/src/components/notice.tsx';
import { GrantsPanel } from '#ui/src/features/grants/grants-panel.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Section } from '#ui/src/components/panel.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { refusalOf } from '#ui/src/features/sign-in/refusals.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { About } from './about.tsx';
import { Credentials } from './credentials.tsx';
import { Providers } from './providers.tsx';
import { SecondFactor } from './second-factor.tsx';
import { Sessions } from './sessions.tsx';
import './account.css';

/** The signed-in person, regardless of role. */
export function Account() {
  const { router } = useKernel();
  const me = useQuery((read) => read('auth.me', {}));
  // Shown once: the parameter is removed, so a reload does not repeat it.
  const refusal = refusalOf(router.query().get('refused'));
  onMount(() => {
    if (refusal !== undefined) router.setQuery({ refused: '' });
  });
  return (
    <Page title="Account" lead="Your sign-in details and sessions.">
      <div class="stack account-page">
        <Fault text={refusal} />
        <About />
        <Show when={me.data()}>
          {(account) => (
            <Show
              when={account().has_password}
              fallback={
                <Section title="Name and password">
                  <p>
                    You sign in through an identity provider and have no password here, so a second factor is up to the provider.
                    An administrator can change your name, or send you an invitation to set a password.
                  </p>
                </Section>
              }
            >
              <Credentials />
              <SecondFactor />
            </Show>
          )}
        </Show>
        <Providers />
        <Sessions />
        <GrantsPanel mine />
      </div>
    </Page>
  );
}
