import { createSignal, Show } from 'solid-js';
import type { McpToken } from '#core/contract/identity/mcp-tokens.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { useCachedPages } from '#ui/src/components/use-pages.ts';
import { NewTokenDialog } from '#ui/src/features/connect/new-token.tsx';
import { EditToken } from '#ui/src/features/connect/token-form.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { minutesWord } from '#ui/src/kernel/words.ts';

/** The access tokens of MCP clients: made, shown once, revoked. */
export function TokensPanel(props: {
  used: boolean;
  creating: boolean;
  onCreating: (open: boolean) => void;
  onMade: (token: string) => void;
}) {
  const { call, toasts } = useKernel();
  const { ask } = useAct();
  const list = useCachedPages((read, skip, limit) => read('mcp_tokens.list', { skip, limit }));
  const [edited, setEdited] = createSignal<McpToken>();

  const revoke = async ({ id, name }: McpToken) => {
    await ask(
      {
        title: `Revoke the token “${name}”?`,
        text: 'Clients that use it are rejected within a second. This can’t be undone.',
        action: 'Revoke',
      },
      () => call('mcp_tokens.delete', { id }),
      `Revoked “${name}”.`,
    );
  };

  return (
    <Panel
      title="Access tokens"
      lead={
        props.used
          ? 'For clients that send a token instead of signing in. Creating and revoking take effect immediately, without a deploy.'
          : 'The deployed server doesn’t use access tokens.'
      }
      flush
      actions={
        <Button size="small" icon="plus" onPress={() => props.onCreating(true)}>
          New token
        </Button>
      }
    >
      <DataTable
        label="Access tokens"
        pages={list}
        key={(row) => row.id}
        muted={(row) => row.revoked}
        columns={[
          { id: 'name', head: 'Name', sort: ({ name }) => name, cell: (row) => <span class="cell-text">{row.name}</span> },
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
          {
            id: 'ends',
            head: 'Idle timeout',
            narrow: 'medium',
            cell: (row) => (row.idle_timeout_minutes === null ? 'Never' : minutesWord(row.idle_timeout_minutes)),
          },
          { id: 'made', head: 'Created', narrow: 'wide', time: (row) => row.created_at },
        ]}
        actions={(row) =>
          row.revoked ? (
            <Badge>Revoked</Badge>
          ) : (
            <>
              <IconButton icon="edit" size="small" label={`Edit ${row.name}`} onPress={() => setEdited(row)} />
              <IconButton icon="trash" size="small" label={`Revoke ${row.name}`} onPress={() => revoke(row)} />
            </>
          )
        }
        empty={
          <EmptyState
            icon="key"
            title="No access tokens yet"
            action={
              <Button icon="plus" onPress={() => props.onCreating(true)}>
                New token
              </Button>
            }
          >
            <p>Create one per client, so each can be revoked separately.</p>
          </EmptyState>
        }
      />
      <NewTokenDialog
        open={props.creating}
        onClose={() => props.onCreating(false)}
        onMade={(token) => {
          props.onMade(token);
        }}
      />
      <DialogOf of={edited()} title={({ name }) => `Token “${name}”`} onClose={() => setEdited(undefined)}>
        {(token) => (
          <EditToken
            token={token}
            onCancel={() => setEdited(undefined)}
            onDone={({ name }) => {
              setEdited(undefined);
              toasts.show(`${name} changed. The change applies immediately.`, 'good');
            }}
          />
        )}
      </DialogOf>
    </Panel>
  );
}
