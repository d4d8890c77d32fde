import { GrantsPanel } from '#ui/src/features/grants/grants-panel.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { About } from './about.tsx';
import { Credentials } from './credentials.tsx';
import { Providers } from './providers.tsx';
import { SecondFactor } from './second-factor.tsx';
import { Sessions } from './sessions.tsx';
import { WORDS } from './words.ts';
import './account.css';

/** The signed-in person, whatever their role. */
export function Account() {
  return (
    <Page title={WORDS.title} lead={WORDS.lead}>
      <div class="stack account-page">
        <About />
        <Credentials />
        <SecondFactor />
        <Providers />
        <Sessions />
        <GrantsPanel mine />
      </div>
    </Page>
  );
}
