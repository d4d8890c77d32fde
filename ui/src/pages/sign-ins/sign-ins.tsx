import { LinkButton } from '#ui/src/components/link.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { GrantsPanel } from '#ui/src/features/grants/grants-panel.tsx';
import { AppsPanel } from './apps-panel.tsx';
import { AttemptsPanel } from './attempts-panel.tsx';
import { WORDS } from './words.ts';

/** Signing in from MCP clients: what happens, who is connected, and apps. */
export function SignIns() {
  return (
    <Page
      title={WORDS.title}
      lead={WORDS.lead}
      actions={
        <LinkButton href="/settings/sign_in" size="small" icon="sliders">
          {WORDS.settings}
        </LinkButton>
      }
    >
      <AttemptsPanel />
      <GrantsPanel />
      <AppsPanel />
    </Page>
  );
}
