import { createSignal, Show } from 'solid-js';
import type { McpToken } from '#core/contract/identity/mcp-tokens.ts';
import { operations, type Output } from '#core/contract/index.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { DataTable } from '#ui/src/components/data-table.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { TextField } from '#ui/src/components/field.tsx';
import { FormFoot } from '#ui/src/components/form-foot.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SecretOnce } from '#ui/src/components/secret-once.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { createForm } from '#ui/src/kernel/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { IDLE, minutesWord, WORDS } from './words.ts';

const MOST = 100;

/** The access tokens of MCP clients: made, shown once, revoked. */
export function TokensPanel(props: {
  used: boolean;
  creating: boolean;
  onCreating: (open: boolean) => void;
  onMade: (token: string) => void;
}) {
  const { call, dialogs, toasts } = useKernel();
  const list = useQuery((signal) => call('mcp_tokens.list', { limit: MOST }, signal));
  const [made, setMade] = createSignal<Output<'mcp_tokens.create'>>();

  const revoke = async ({ id, name }: McpToken) => {
    const agreed = await dialogs.confirm({
      title: WORDS.revoke_title(name),
      text: WORDS.revoke_text,
      action: WORDS.revoke_action,
      danger: true,
    });
    if (!agreed) return;
    try {
      await call('mcp_tokens.delete', { id });
      toasts.show(WORDS.was_revoked(name), 'good');
    } catch (fault) {
      toasts.show(toProblem(fault).detail, 'bad');
    }
    await list.reload();
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
        rows={list.data()?.items}
        problem={list.problem()}
        onRetry={() => void list.reload()}
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
            <IconButton icon="trash" size="small" label={`${WORDS.revoke_action} ${row.name}`} onPress={() => void revoke(row)} />
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
      <Dialog open={props.creating} title={WORDS.create_title} onClose={() => props.onCreating(false)}>
        <NewToken
          onCancel={() => props.onCreating(false)}
          onDone={(token) => {
            props.onCreating(false);
            setMade(token);
            props.onMade(token.token);
            void list.reload();
          }}
        />
      </Dialog>
      <SecretOnce
        open={made() !== undefined}
        title={WORDS.created(made()?.name ?? '')}
        secrets={[{ label: WORDS.token, value: made()?.token ?? '' }]}
        onClose={() => setMade(undefined)}
      />
    </Panel>
  );
}

function NewToken(props: { onDone: (token: Output<'mcp_tokens.create'>) => void; onCancel: () => void }) {
  const { call } = useKernel();
  const form = createForm({
    schema: operations['mcp_tokens.create'].input,
    initial: (): { name: string; idle_timeout_minutes: number | null } => ({ name: '', idle_timeout_minutes: null }),
    submit: (values) => call('mcp_tokens.create', values),
    onDone: (token) => props.onDone(token),
  });
  return (
    <form class="stack" novalidate onSubmit={(event) => void form.submit(event)}>
      <TextField label={WORDS.name} hint={WORDS.name_hint} autofocus required {...form.text('name')} />
      <Select
        label={WORDS.idle}
        options={IDLE}
        value={String(form.values.idle_timeout_minutes ?? '')}
        onChange={(value) => form.set('idle_timeout_minutes', value === '' ? null : Number(value))}
        error={form.error('idle_timeout_minutes')}
      />
      <FormFoot form={form} submit={WORDS.create_action} always onCancel={() => props.onCancel()} />
    </form>
  );
}
