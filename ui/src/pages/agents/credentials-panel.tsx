import { createSignal, For, Show } from 'solid-js';
import { type AgentCredential, agentTexts } from '#core/client-texts.ts';
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
import { useQuery } from '#ui/src/components/use-query.ts';
import { ClientTexts } from '#ui/src/features/connect/client-texts.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { minutesWord } from '#ui/src/kernel/words.ts';
import { NewCredential } from './new-credential.tsx';
import { WORDS } from './words.ts';

const MOST = 100;

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
    title: WORDS.tokens,
    create: WORDS.new_token,
    dialog: WORDS.new_token_title,
    mark: WORDS.prefix,
    ends: WORDS.ends,
    none: WORDS.no_tokens,
    none_text: WORDS.no_tokens_text,
    revoke: WORDS.revoke_token,
    made: WORDS.token_made,
  },
  client: {
    title: WORDS.clients,
    create: WORDS.new_client,
    dialog: WORDS.new_client_title,
    mark: WORDS.client_id,
    ends: WORDS.idle,
    none: WORDS.no_clients,
    none_text: WORDS.no_clients_text,
    revoke: WORDS.revoke_client,
    made: WORDS.client_made,
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
  const list = useQuery(async (read): Promise<readonly Row[]> =>
    props.kind === 'token'
      ? (await read('agent_tokens.list', { limit: MOST })).items.map(ofToken)
      : (await read('oauth_clients.list', { limit: MOST })).items.map(ofClient),
  );
  const now = useNow();
  const over = (row: Row) => row.revoked || (row.expires_at !== null && Date.parse(row.expires_at) <= now());
  const revoke = async ({ id, name }: Row) => {
    const operation = props.kind === 'token' ? 'agent_tokens.delete' : 'oauth_clients.delete';
    await ask(
      {
        title: words().revoke(name),
        text: WORDS.revoke_text,
        action: WORDS.revoke,
      },
      () => call(operation, { id }),
      WORDS.was_revoked(name),
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
        rows={list.data()}
        query={list}
        key={(row) => row.id}
        muted={over}
        columns={[
          { id: 'name', head: WORDS.name, cell: (row) => row.name, sort: (row) => row.name },
          {
            id: 'mark',
            head: words().mark,
            narrow: 'hide',
            cell: (row) => <span class="mono small">{row.mark}</span>,
          },
          {
            id: 'scopes',
            head: WORDS.scopes,
            narrow: 'hide',
            cell: (row) => (
              <span class="row agents-scopes">
                <For each={row.scopes}>{(scope) => <Badge tone={scope === 'deploy' ? 'brass' : 'plain'}>{scope}</Badge>}</For>
              </span>
            ),
          },
          {
            id: 'used',
            head: WORDS.used,
            narrow: 'hide',
            cell: (row) => (
              <Show when={row.last_used_at} fallback={<span class="faint">{WORDS.never}</span>}>
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
              <span class="num">{row.expires_at === null ? row.idle : <In iso={row.expires_at} past={WORDS.ended} />}</span>
            ),
          },
        ]}
        actions={(row) => (
          <Show
            when={over(row)}
            fallback={
              <IconButton icon="trash" size="small" label={`${WORDS.revoke} ${row.name}`} onPress={() => void revoke(row)} />
            }
          >
            <Badge>{row.revoked ? WORDS.revoked : WORDS.ended}</Badge>
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
        open={made() !== undefined}
        title={words().made(made()?.name ?? '')}
        secrets={made()?.secrets ?? []}
        onClose={() => setMade(undefined)}
      >
        <Show when={made()}>{(shown) => <ClientTexts texts={textsFor(shown().credential)} label={WORDS.connect} />}</Show>
      </SecretOnce>
    </Panel>
  );
}
