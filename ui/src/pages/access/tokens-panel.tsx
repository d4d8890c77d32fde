import { createSignal, Show } from 'solid-js';
import type { McpToken } from '#core/contract/identity/mcp-tokens.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { NewTokenDialog } from '#ui/src/features/connect/new-token.tsx';
import { EditToken } from '#ui/src/features/connect/token-form.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { minutesWord } from '#ui/src/kernel/words.ts';
import { WORDS } from './words.ts';

const MOST = 100;

/** The access tokens of MCP clients: made, shown once, revoked. */
export function TokensPanel(props: {
  used: boolean;
  creating: boolean;
  onCreating: (open: boolean) => void;
  onMade: (token: string) => void;
}) {
  const { call, toasts } = useKernel();
  const { ask } = useAct();
  const list = useQuery((read) => read('mcp_tokens.list', { limit: MOST }));
  const [edited, setEdited] = createSignal<McpToken>();

  const revoke = async ({ id, name }: McpToken) => {
    await ask(
      {
        title: WORDS.revoke_title(name),
        text: WORDS.revoke_text,
        action: WORDS.revoke_action,
      },
      () => call('mcp_tokens.delete', { id }),
      WORDS.was_revoked(name),
    );
  };

  return (
    <Panel
      title={WORDS.tokens}
      lead={props.used ? WORDS.tokens_lead : WORDS.tokens_unused}
      flush
      actions={
        <Button size="small" icon="plus" onPress={() => props.onCreating(true)}>
          {WORDS.create}
        </Button>
      }
    >
      <DataTable
        label={WORDS.tokens}
        list={list}
        key={(row) => row.id}
        muted={(row) => row.revoked}
        columns={[
          { id: 'name', head: WORDS.name, cell: (row) => row.name, sort: (row) => row.name },
          {
            id: 'prefix',
            head: WORDS.prefix,
            narrow: 'hide',
            cell: (row) => <span class="mono small">{row.token_prefix}…</span>,
          },
          {
            id: 'toolsets',
            head: WORDS.toolsets,
            narrow: 'hide',
            cell: (row) =>
              row.toolsets === null ? (
                <span class="faint">{WORDS.all_toolsets}</span>
              ) : (
                row.toolsets.join(', ') || WORDS.no_toolsets
              ),
          },
          {
            id: 'used',
            head: WORDS.used,
            cell: (row) => (
              <Show when={row.last_used_at} fallback={<span class="faint">{WORDS.never}</span>}>
                {(iso) => <Ago iso={iso()} />}
              </Show>
            ),
            sort: (row) => row.last_used_at,
          },
          {
            id: 'ends',
            head: WORDS.idle,
            narrow: 'hide',
            cell: (row) => (row.idle_timeout_minutes === null ? WORDS.never : minutesWord(row.idle_timeout_minutes)),
          },
          {
            id: 'made',
            head: WORDS.made,
            narrow: 'hide',
            cell: (row) => <Ago iso={row.created_at} />,
            sort: (row) => row.created_at,
          },
        ]}
        actions={(row) =>
          row.revoked ? (
            <Badge>{WORDS.revoked}</Badge>
          ) : (
            <>
              <IconButton icon="edit" size="small" label={`${WORDS.edit} ${row.name}`} onPress={() => setEdited(row)} />
              <IconButton
                icon="trash"
                size="small"
                label={`${WORDS.revoke_action} ${row.name}`}
                onPress={() => void revoke(row)}
              />
            </>
          )
        }
        empty={
          <EmptyState
            icon="key"
            title={WORDS.none_title}
            action={
              <Button icon="plus" onPress={() => props.onCreating(true)}>
                {WORDS.create}
              </Button>
            }
          >
            <p>{WORDS.none}</p>
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
      <Dialog open={edited() !== undefined} title={WORDS.edit_title(edited()?.name ?? '')} onClose={() => setEdited(undefined)}>
        <Show when={edited()} keyed>
          {(token) => (
            <EditToken
              token={token}
              onCancel={() => setEdited(undefined)}
              onDone={({ name }) => {
                setEdited(undefined);
                toasts.show(WORDS.was_changed(name), 'good');
              }}
            />
          )}
        </Show>
      </Dialog>
    </Panel>
  );
}
