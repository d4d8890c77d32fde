import { For, Show } from 'solid-js';
import { type AgentCredential, agentTexts } from '#core/client/client-texts.ts';
import { type AgentToken, type OauthClient, SCOPE_CHOICES } from '#core/contract/identity/agent-access.ts';
import { operations, type Output } from '#core/contract/index.ts';
import { placeholdersIn } from '#core/lib/text/command-text.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import type { Column } from '#ui/src/components/table/data-table.tsx';
import { Ago, In, useNow } from '#ui/src/components/time.tsx';
import { ClientTexts } from '#ui/src/features/connect/client-texts.tsx';
import { EXPIRES, LifetimeField, useRotation } from '#ui/src/features/connect/token-ends.tsx';
import type { RecordKind } from '#ui/src/features/records/record-form.tsx';
import { RecordPanel } from '#ui/src/features/records/record-panel.tsx';
import { fieldColumn } from '#ui/src/fields/field-column.tsx';

type Scope = keyof typeof SCOPE_CHOICES;
interface Draft extends Record<string, unknown> {
  readonly name: string;
  readonly scopes: Scope[];
}

const OF_BOTH = {
  nameOf: ({ name }: { readonly name: string }) => name,
  removal: {
    verb: 'Revoke',
    text: () => 'It stops working immediately, and so does every token issued from it. Its changes stay in the history.',
  },
} as const;

const TOKEN_DRAFT = operations['agent_tokens.create'].input;
type TokenDraft = Draft & { readonly duration_minutes: number };
const TOKENS: RecordKind<AgentToken, TokenDraft, Output<'agent_tokens.create'>> = {
  ...OF_BOTH,
  type: 'agent_token',
  noun: 'token',
  list: (read, skip, limit) => read('agent_tokens.list', { skip, limit }),
  schema: TOKEN_DRAFT,
  blank: { name: '', duration_minutes: 480, scopes: ['read', 'write'] },
  create: (call, values) => call('agent_tokens.create', values),
  remove: (call, { id }) => call('agent_tokens.delete', { id }),
};

const CLIENT_DRAFT = operations['oauth_clients.create'].input;
type ClientDraft = Draft & { readonly idle_timeout_minutes: number; readonly expires_in_days?: number | null };
const CLIENTS: RecordKind<OauthClient, ClientDraft, Output<'oauth_clients.create'>> = {
  ...OF_BOTH,
  type: 'oauth_client',
  noun: 'client',
  list: (read, skip, limit) => read('oauth_clients.list', { skip, limit }),
  schema: CLIENT_DRAFT,
  blank: { name: '', idle_timeout_minutes: 60, scopes: ['read', 'write'] },
  fields: () => ['name', 'expires_in_days', 'idle_timeout_minutes', 'scopes'],
  draw: { expires_in_days: (form) => <LifetimeField form={form} /> },
  create: (call, values) => call('oauth_clients.create', values),
  remove: (call, { id }) => call('oauth_clients.delete', { id }),
};

type Credential = Pick<AgentToken, 'scopes' | 'last_used_at' | 'last_ip'>;
const SCOPES: Column<Credential> = {
  id: 'scopes',
  head: 'Permissions',
  narrow: 'hide',
  cell: (row) => (
    <span class="row agents-scopes">
      <For each={row.scopes}>
        {(scope) => <Badge tone={scope === 'deploy' ? 'warning' : 'plain'}>{SCOPE_CHOICES[scope].label}</Badge>}
      </For>
    </span>
  ),
};
const LAST_USED: Column<Credential> = {
  id: 'used',
  head: 'Last used',
  narrow: 'hide',
  cell: (row) => (
    <Show when={row.last_used_at} fallback={<span class="faint">Never</span>}>
      {(iso) => (
        <span title={row.last_ip ?? undefined}>
          <Ago iso={iso()} />
        </span>
      )}
    </Show>
  ),
  sort: ({ last_used_at }) => last_used_at,
};
const code = (text: string) => <span class="mono small">{text}</span>;

interface PanelProps {
  creating: boolean;
  onCreating: (open: boolean) => void;
  onCredential: (credential: AgentCredential) => void;
}

/** Tokens of agents and scripts. */
export function AgentTokensPanel(props: PanelProps) {
  const now = useNow();
  return (
    <RecordPanel
      {...props}
      of={TOKENS}
      title="Tokens"
      icon="bot"
      new_title="New agent token"
      onCreated={({ token }) => props.onCredential({ token })}
      ended={({ revoked, expires_at }) => (revoked ? 'Revoked' : Date.parse(expires_at) <= now() ? 'Expired' : undefined)}
      empty={{
        title: 'No agent tokens yet',
        text: 'Tokens are valid for 15 minutes to 7 days. Grant only the permissions that are needed.',
      }}
      columns={[
        fieldColumn(TOKEN_DRAFT, 'name'),
        { id: 'prefix', head: 'Prefix', narrow: 'medium', cell: ({ token_prefix }) => code(`${token_prefix}…`) },
        SCOPES,
        LAST_USED,
        { id: 'ends', head: 'Expires', cell: (row) => <In iso={row.expires_at} past="Expired" /> },
      ]}
      secrets={{
        title: ({ name }) => `Token “${name}”`,
        secrets: ({ token }) => [{ label: 'Token', value: token }],
        children: (row) => <AgentTexts of={{ token: row.token }} />,
      }}
    />
  );
}

/** OAuth clients, for services that fetch their tokens themselves. */
export function AgentClientsPanel(props: PanelProps) {
  const rotation = useRotation();
  return (
    <RecordPanel
      {...props}
      of={CLIENTS}
      title="OAuth clients"
      icon="bot"
      new_title="New OAuth client"
      onCreated={({ client_id, client_secret }) => props.onCredential({ client_id, client_secret })}
      ended={({ revoked }) => (revoked ? 'Revoked' : undefined)}
      empty={{ title: 'No OAuth clients yet', text: 'For services that fetch their tokens themselves.' }}
      columns={[
        fieldColumn(CLIENT_DRAFT, 'name'),
        { id: 'client_id', head: 'Client ID', narrow: 'medium', cell: ({ client_id }) => code(client_id) },
        SCOPES,
        LAST_USED,
        EXPIRES,
        fieldColumn(CLIENT_DRAFT, 'idle_timeout_minutes', { narrow: 'medium' }),
      ]}
      actions={(row, show) => [
        rotation<OauthClient, Output<'oauth_clients.create'>>(row, (call) => call('oauth_clients.rotate', { id: row.id }), show),
      ]}
      secrets={{
        title: ({ name }) => `Client “${name}”`,
        secrets: ({ client_id, client_secret }) => [
          { label: 'Client ID', value: client_id },
          { label: 'Client secret', value: client_secret },
        ],
        children: (row) => <AgentTexts of={{ client_id: row.client_id, client_secret: row.client_secret }} />,
      }}
    />
  );
}

/** The texts in which nothing is left to replace. */
function AgentTexts(props: { of: AgentCredential }) {
  const texts = () => agentTexts(window.location.origin, props.of).filter(({ text }) => placeholdersIn(text).length === 0);
  return <ClientTexts texts={texts()} label="Connect an agent" />;
}
