import { createSignal, Show } from 'solid-js';
import { SERVING_CHOICES } from '#core/contract/deploy/deploy.ts';
import { AUTH_CHOICES, TRANSPORT_CHOICES } from '#core/contract/settings/settings.ts';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { together } from '#ui/src/kernel/data/query.ts';
import { ConnectPanel } from '#ui/src/features/connect/connect-panel.tsx';
import { onDialogLink } from '#ui/src/kernel/route/dialog-link.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { TestPanel } from './test-panel.tsx';
import { TokensPanel } from './tokens-panel.tsx';
import './access.css';

/** How clients reach the deployed server and what they show. */
export function Access() {
  const { router } = useKernel();
  const [created, setCreated] = createSignal<string>();
  const [creating, setCreating] = createSignal(false);
  const health = useQuery((read) => read('server.health', {}));
  const config = useQuery((read) => read('config.get', {}));
  const auth = () => health.data()?.auth_type;
  const acceptsTokens = () => (auth() === 'oauth' || auth() === 'jwt') && config.data()?.accept_mcp_tokens === true;
  const pending = () => config.data() !== undefined && config.data()?.auth_type !== auth();
  onDialogLink(router, 'token', () => setCreating(true));
  useCommands([
    { id: 'new-mcp-token', title: 'New access token for MCP clients', group: 'Create', run: () => setCreating(true) },
  ]);

  return (
    <Page title="Connect" lead="The address of the deployed server and the credentials that clients need.">
      <Failed of={together(health, config)} />
      <div class="page-columns access">
        <Panel
          title="The server"
          actions={
            <LinkButton href="/settings" size="small" icon="sliders">
              Change in settings
            </LinkButton>
          }
        >
          <Show when={health.data()} fallback={<SkeletonList rows={2} label="Loading the address" failed={health.problem()} />}>
            {(server) => (
              <KeyValue
                items={[
                  { label: 'Address', value: server().mcp_url, mono: true, copy: server().mcp_url },
                  { label: 'Transport', value: TRANSPORT_CHOICES[server().transport].label },
                  {
                    label: 'Authentication',
                    value: (
                      <span class="row">
                        {AUTH_CHOICES[server().auth_type].label}
                        <Show when={pending()}>
                          <span class="small not-live">changes at the next deploy</span>
                        </Show>
                      </span>
                    ),
                  },
                  { label: 'State', value: SERVING_CHOICES[server().status].label },
                ]}
              />
            )}
          </Show>
          <Show when={auth()}>{(kind) => <TestPanel wants_token={kind() !== 'none'} token={created() ?? ''} />}</Show>
        </Panel>
        <ConnectPanel server={health.data()} token={created()} />
      </div>
      <TokensPanel
        used={auth() === undefined || auth() === 'bearer' || acceptsTokens()}
        creating={creating()}
        onCreating={setCreating}
        onToken={setCreated}
      />
      <Show when={config.data()?.auth_type === 'oauth_credentials' ? config.data() : undefined}>
        {(settings) => (
          <Panel
            title="OAuth clients"
            lead="They exchange their ID and secret for short-lived tokens."
            actions={
              <LinkButton href="/settings/auth" size="small" icon="edit">
                Change clients
              </LinkButton>
            }
            flush
          >
            <div class="panel-body">
              <Show
                when={settings().oauth_clients.length > 0}
                fallback={<p class="soft small">No OAuth clients yet. Add one in the settings.</p>}
              >
                <KeyValue
                  items={[
                    {
                      label: 'Token endpoint',
                      value: `${(health.data()?.mcp_url ?? '').replace(/\/mcp$/, '')}/oauth/token`,
                      mono: true,
                      copy: `${(health.data()?.mcp_url ?? '').replace(/\/mcp$/, '')}/oauth/token`,
                    },
                    ...settings().oauth_clients.map(({ client_id }) => ({
                      label: 'client_id',
                      value: client_id,
                      mono: true,
                      copy: client_id,
                    })),
                  ]}
                />
              </Show>
            </div>
          </Panel>
        )}
      </Show>
    </Page>
  );
}
