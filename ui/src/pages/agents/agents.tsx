import { createSignal, Show } from 'solid-js';
import { Dynamic } from 'solid-js/web';
import { type AgentCredential, agentTexts } from '#core/client/client-texts.ts';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { ClientTexts } from '#ui/src/features/connect/client-texts.tsx';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { createSearchParams, oneOf } from '#ui/src/kernel/route/search-params.ts';
import { ActivityPanel } from './activity-panel.tsx';
import { AgentClientsPanel, AgentTokensPanel } from './credentials-panel.tsx';
import { ToolsPanel } from './tools-panel.tsx';
import './agents.css';

/** Who administers this server besides people, and what they did. */
export function Agents() {
  const { router } = useKernel();
  const params = createSearchParams(router, { view: oneOf(['tokens', 'clients', 'activity', 'tools']) });
  const [created, setCreated] = createSignal<AgentCredential>({});
  const [creating, setCreating] = createSignal<'token' | 'client'>();
  const config = useQuery((read) => read('config.get', {}));
  const create = (kind: 'token' | 'client') => {
    params.set({ view: kind === 'token' ? 'tokens' : 'clients' });
    setCreating(kind);
  };
  useCommands([
    { id: 'new-agent-token', title: 'New token for an agent', group: 'Create', run: () => create('token') },
    { id: 'new-agent-client', title: 'New OAuth client for an agent', group: 'Create', run: () => create('client') },
  ]);
  const credentials = (kind: 'token' | 'client') => (
    <div class="stack agents">
      <Dynamic
        component={kind === 'token' ? AgentTokensPanel : AgentClientsPanel}
        creating={creating() === kind}
        onCreating={(open) => setCreating(open ? kind : undefined)}
        onCredential={(credential) => setCreated((before) => ({ ...before, ...credential }))}
      />
      <Panel title="Connect an agent">
        <Show
          when={created().token !== undefined}
          fallback={<p class="small soft">Replace YOUR_TOKEN with a token. A new token is filled in for you.</p>}
        >
          <p class="small soft">The token that you just created is filled in.</p>
        </Show>
        <ClientTexts texts={agentTexts(window.location.origin, created())} label="Connect an agent" />
      </Panel>
    </div>
  );

  return (
    <Page title="Agents" lead="Credentials for agents and scripts that administer this server.">
      <Show when={config.data()?.agent_enabled === false}>
        <Notice
          tone="warning"
          title="The agent endpoint is disabled"
          action={
            <LinkButton href="/settings" size="small" icon="sliders">
              Agent settings
            </LinkButton>
          }
        >
          <p>Every call gets a 403 until you enable it.</p>
        </Notice>
      </Show>
      <Tabs
        label="Agent views"
        value={params.get('view')}
        onChange={(view) => router.navigate(view === 'tokens' ? '/agents' : `/agents?view=${view}`, { replace: true })}
        tabs={[
          { value: 'tokens', label: 'Tokens', panel: () => credentials('token') },
          { value: 'clients', label: 'OAuth clients', panel: () => credentials('client') },
          { value: 'activity', label: 'Activity', panel: () => <ActivityPanel /> },
          { value: 'tools', label: 'Tools', panel: () => <ToolsPanel /> },
        ]}
      />
    </Page>
  );
}
