import { Show } from 'solid-js';
import { operations, type Output } from '#core/contract/index.ts';
import type { McpToken } from '#core/contract/identity/mcp-tokens.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { ConnectClient } from '#ui/src/features/connect/connect-client.tsx';
import { ClaimsField, TokenToolsets } from '#ui/src/features/connect/token-access.tsx';
import { EXPIRES, LifetimeField, useRotation } from '#ui/src/features/connect/token-ends.tsx';
import type { RecordKind } from '#ui/src/features/records/record-form.tsx';
import { RecordPanel } from '#ui/src/features/records/record-panel.tsx';
import { fieldColumn } from '#ui/src/fields/field-column.tsx';

type Created = Output<'mcp_tokens.create'>;

interface Draft extends Record<string, unknown> {
  readonly name: string;
  readonly idle_timeout_minutes: number | null;
  readonly toolsets: string[] | null;
  readonly all_toolsets: boolean;
  readonly claims: Record<string, unknown>;
  readonly expires_in_days?: number | null;
}

const DRAFT = operations['mcp_tokens.create'].input;
const TOKENS: RecordKind<McpToken, Draft, Created> = {
  type: 'mcp_token',
  noun: 'token',
  nameOf: ({ name }) => name,
  list: (read, skip, limit) => read('mcp_tokens.list', { skip, limit }),
  schema: DRAFT,
  blank: { name: '', idle_timeout_minutes: null, toolsets: null, all_toolsets: false, claims: {} },
  toValues: ({ name, idle_timeout_minutes, toolsets, claims }) => ({
    name,
    idle_timeout_minutes,
    toolsets,
    all_toolsets: toolsets === null,
    claims,
  }),
  fields: (token) => ['name', 'toolsets', ...(token === undefined ? ['expires_in_days'] : []), 'idle_timeout_minutes', 'claims'],
  draw: {
    toolsets: (form) => (
      <TokenToolsets
        value={form.values.toolsets}
        everything={form.values.all_toolsets}
        onChange={(value, everything) => {
          form.set('toolsets', value);
          form.set('all_toolsets', everything);
        }}
        error={form.errorWithin('toolsets')}
      />
    ),
    expires_in_days: (form) => <LifetimeField form={form} />,
    claims: (form) => (
      <ClaimsField value={form.values.claims} onChange={(value) => form.set('claims', value)} error={form.error('claims')} />
    ),
  },
  create: (call, values) => call('mcp_tokens.create', values),
  update: (call, { expires_in_days: _, ...values }, { id, version }) => call('mcp_tokens.update', { id, version, ...values }),
  remove: (call, { id }) => call('mcp_tokens.delete', { id }),
  removal: { verb: 'Revoke', text: () => 'Clients that use it are rejected within a second. This can’t be undone.' },
};

/** The access tokens of MCP clients: create, show once, revoke. */
export function TokensPanel(props: {
  used: boolean;
  creating: boolean;
  onCreating: (open: boolean) => void;
  onToken: (token: string) => void;
}) {
  const rotation = useRotation();
  return (
    <RecordPanel
      of={TOKENS}
      title="Access tokens"
      lead={
        props.used
          ? 'For clients that send a token instead of signing in. Changes take effect immediately, without a deploy.'
          : 'The deployed server doesn’t use access tokens. To use them, choose Access token under Settings, Security, and deploy.'
      }
      icon="key"
      new_title="New access token"
      creating={props.creating}
      onCreating={props.onCreating}
      onCreated={({ token }) => props.onToken(token)}
      ended={({ revoked }) => (revoked ? 'Revoked' : undefined)}
      empty={{ title: 'No access tokens yet', text: 'Create one per client, so each can be revoked separately.' }}
      columns={[
        fieldColumn(DRAFT, 'name'),
        {
          id: 'prefix',
          head: 'Prefix',
          narrow: 'medium',
          cell: (row) => <span class="mono small">{row.token_prefix}…</span>,
        },
        {
          id: 'toolsets',
          head: 'Toolsets',
          narrow: 'hide',
          cell: (row) => (
            <Show when={row.toolsets} fallback={<span class="faint">Everything</span>}>
              {(names) => <span class="cell-text">{names().join(', ') || 'None'}</span>}
            </Show>
          ),
        },
        { id: 'used', head: 'Last used', time: (row) => row.last_used_at },
        EXPIRES,
        fieldColumn(DRAFT, 'idle_timeout_minutes', { narrow: 'medium' }),
        { id: 'made', head: 'Created', narrow: 'wide', time: (row) => row.created_at },
      ]}
      actions={(row, show) => [
        rotation<McpToken, Created>(row, (call) => call('mcp_tokens.rotate', { id: row.id, version: row.version }), show),
      ]}
      secrets={{
        title: ({ name }) => `Token “${name}”`,
        secrets: ({ token }) => [{ label: 'Access token', value: token }],
        children: (row) => <Snippets token={row.token} />,
      }}
    />
  );
}

function Snippets(props: { token: string }) {
  const health = useQuery((read) => read('server.health', {}));
  return (
    <Show when={health.data()?.auth_type === 'bearer'}>
      <ConnectClient server={health.data()} label="Clients" token={props.token} />
    </Show>
  );
}
