import { Page } from '#ui/src/components/page.tsx';
import { Credentials } from './credentials.tsx';
import { SecondFactor } from './second-factor.tsx';
import { Sessions } from './sessions.tsx';
import { WORDS } from './words.ts';
import './account.css';

/** The signed-in administrator. */
export function Account() {
  return (
    <Page title={WORDS.title} lead={WORDS.lead}>
      <div class="stack account-page">
        <Credentials />
        <SecondFactor />
        <Sessions />
      </div>
    </Page>
  );
}
