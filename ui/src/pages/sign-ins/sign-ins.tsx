import { LinkButton } from '#ui/src/components/link.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { GrantsPanel } from '#ui/src/features/grants/grants-panel.tsx';
import { AppsPanel } from './apps-panel.tsx';
import { AttemptsPanel } from './attempts-panel.tsx';

/** Signing in from MCP clients: what happens, who is connected, and apps. */
export function SignIns() {
  return (
    <Page
      title="Sign-ins"
      lead="How people sign in from MCP clients such as Claude, ChatGPT, Cursor and VS Code."
      actions={
        <LinkButton href="/settings/sign_in" size="small" icon="sliders">
          Settings
        </LinkButton>
      }
    >
      <AttemptsPanel />
      <GrantsPanel />
      <AppsPanel />
    </Page>
  );
}
