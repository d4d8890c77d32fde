import { createSignal, For, Show } from 'solid-js';
import { type AgentCredential, agentTexts } from '#core/client/client-texts.ts';
import { placeholdersIn } from '#core/lib/text/command-text.ts';
import type { AgentToken, OauthClient } from '#core/contract/identity/agent-access.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SecretOnce } from '#ui/src/components/show/secret-once.tsx';
import { Ago, In, useNow } from '#ui/src/components/time.tsx';
import { useCachedPages } from '#ui/src/components/use-pages.ts';
import { ClientTexts } from '#ui/src/features/connect/client-texts.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { capital, minutesWord } from '#ui/src/kernel/words.ts';
import { NewCredential } from './new-credential.tsx';

/** A token or a client, as the table shows both. */
interface Row {
  readonly id: string;
  readonly name: string;
  readonly mark: string;
  readonly scopes: readonly string[];
  readonly last_used_at: string | null;
  readonly last_ip: string | null;
  readonly revoked: boolean;
  /** When it ends, or how long it may stay unused. */
  readonly expires_at: string | null;
  readonly idle: string | null;
}

const ofToken = (token: AgentToken): Row => ({
  ...token,
  mark: `${token.token_prefix}…`,
  idle: null,
});
const ofClient = (client: OauthClient): Row => ({
  ...client,
  mark: client.client_id,
  expires_at: null,
  idle: minutesWord(client.idle_timeout_minutes),
});

const KINDS = {
  token: {
    title: 'Tokens',
    create: 'New token',
    dialog: 'New agent token',
    mark: 'Prefix',
    ends: 'Expires',
    none: 'No agent tokens yet',
    none_text: 'Tokens are valid for 15 minutes to 7 days. Grant only the permissions that are needed.',
  },
  client: {
    title: 'OAuth clients',
    create: 'New client',
    dialog: 'New OAuth client',
    mark: 'Client ID',
    ends: 'Idle timeout',
    none: 'No OAuth clients yet',
    none_text: 'For services that fetch their own tokens.',
  },
} as const;

/** The texts in which nothing is left to replace. */
const textsFor = (credential: AgentCredential) =>
  agentTexts(window.location.origin, credential).filter(({ text }) => placeholdersIn(text).length === 0);

export interface Made {
  readonly name: string;
  readonly secrets: readonly { readonly label: string; readonly value: string }[];
  readonly credential: AgentCredential;
}

export function CredentialsPanel(props: {
  kind: 'token' | 'client';
  creating: boolean;
  onCreating: (open: boolean) => void;
  onMade: (credential: AgentCredential) => void;
}) {
  const { call } = useKernel();
  const { ask } = useAct();
  const [made, setMade] = createSignal<Made>();
  const words = () => KINDS[props.kind];
  const list = useCachedPages(async (read, skip, limit): Promise<{ items: readonly Row[]; total: number }> => {
    if (props.kind === 'token') {
      const { items, total } = await read('agent_tokens.list', { skip, limit });
      return { items: items.map(ofToken), total };
    }
    const { items, total } = await read('oauth_clients.list', { skip, limit });
    return { items: items.map(ofClient), total };
  });
  const now = useNow();
  const over = (row: Row) => row.revoked || (row.expires_at !== null && Date.parse(row.expires_at) <= now());
  const revoke = async ({ id, name }: Row) => {
    const operation = props.kind === 'token' ? 'agent_tokens.delete' : 'oauth_clients.delete';
    await ask(
      {
        title: `Revoke the ${props.kind} “${name}”?`,
        text: 'It stops working immediately, with every token issued from it. The history keeps what it did.',
        action: 'Revoke',
      },
      () => call(operation, { id }),
      `Revoked “${name}”.`,
    );
  };

  return (
    <Panel
      title={words().title}
      flush
      actions={
        <Button size="small" icon="plus" onPress={() => props.onCreating(true)}>
          {words().create}
        </Button>
      }
    >
      <DataTable
        label={words().title}
        pages={list}
        key={(row) => row.id}
        muted={over}
        columns={[
          { id: 'name', head: 'Name', sort: ({ name }) => name, cell: (row) => <span class="cell-text">{row.name}</span> },
          {
            id: 'mark',
            head: words().mark,
            narrow: 'medium',
            cell: (row) => <span class="mono small">{row.mark}</span>,
          },
          {
            id: 'scopes',
            head: 'Permissions',
            narrow: 'hide',
            cell: (row) => (
              <span class="row agents-scopes">
                <For each={row.scopes}>{(scope) => <Badge tone={scope === 'deploy' ? 'warning' : 'plain'}>{scope}</Badge>}</For>
              </span>
            ),
          },
          {
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
            sort: (row) => row.last_used_at,
          },
          {
            id: 'ends',
            head: words().ends,
            cell: (row) => (
              <span class="num">{row.expires_at === null ? row.idle : <In iso={row.expires_at} past="Ended" />}</span>
            ),
          },
        ]}
        actions={(row) => (
          <Show
            when={over(row)}
            fallback={<IconButton icon="trash" size="small" label={`Revoke ${row.name}`} onPress={() => revoke(row)} />}
          >
            <Badge>{row.revoked ? 'Revoked' : 'Ended'}</Badge>
          </Show>
        )}
        empty={
          <EmptyState
            icon="bot"
            title={words().none}
            action={
              <Button icon="plus" onPress={() => props.onCreating(true)}>
                {words().create}
              </Button>
            }
          >
            <p>{words().none_text}</p>
          </EmptyState>
        }
      />
      <Dialog open={props.creating} title={words().dialog} onClose={() => props.onCreating(false)}>
        <NewCredential
          kind={props.kind}
          onCancel={() => props.onCreating(false)}
          onDone={(answer) => {
            props.onCreating(false);
            setMade(answer);
            props.onMade(answer.credential);
          }}
        />
      </Dialog>
      <SecretOnce
        of={made()}
        title={({ name }) => `${capital(props.kind)} “${name}”`}
        secrets={({ secrets }) => secrets}
        onClose={() => setMade(undefined)}
      >
        {({ credential }) => <ClientTexts texts={textsFor(credential)} label="Connect an agent" />}
      </SecretOnce>
    </Panel>
  );
}
