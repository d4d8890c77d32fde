import { createSignal, Show } from 'solid-js';
import type { OauthApp } from '#core/contract/identity/oauth.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SecretOnce } from '#ui/src/components/show/secret-once.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { EditApp, type Made, NewApp } from './app-form.tsx';
import { WORDS } from './words.ts';

const MOST = 100;

/** Clients that an administrator registers by hand. */
export function AppsPanel() {
  const { call, dialogs } = useKernel();
  const { act, ask } = useAct();
  const list = useQuery((read) => read('oauth_apps.list', { limit: MOST }));
  const [creating, setCreating] = createSignal(false);
  const [editing, setEditing] = createSignal<OauthApp>();
  const [made, setMade] = createSignal<Made>();

  const remove = async ({ id, name }: OauthApp) => {
    await ask(
      {
        title: WORDS.delete_title(name),
        text: WORDS.delete_text,
        action: WORDS.delete,
      },
      () => call('oauth_apps.delete', { id }),
      WORDS.deleted(name),
    );
  };
  const renew = async ({ id, version, name, client_secret_set }: OauthApp) => {
    const agreed =
      !client_secret_set ||
      (await dialogs.confirm({ title: WORDS.renew_title(name), text: WORDS.renew_text, action: WORDS.renew, danger: true }));
    const app = agreed ? await act(() => call('oauth_apps.renew_secret', { id, version })) : undefined;
    if (app !== undefined) setMade(app);
  };
  const secrets = () => {
    const { client_id = '', client_secret = null } = made() ?? {};
    const id = { label: WORDS.client_id, value: client_id };
    return client_secret === null ? [id] : [id, { label: WORDS.client_secret, value: client_secret }];
  };
  const create = () => (
    <Button size="small" icon="plus" onPress={() => setCreating(true)}>
      {WORDS.create}
    </Button>
  );

  return (
    <Panel title={WORDS.apps} lead={WORDS.apps_lead} flush actions={create()}>
      <DataTable
        label={WORDS.apps}
        list={list}
        key={(row) => row.id}
        columns={[
          { id: 'name', head: WORDS.name, cell: (row) => row.name, sort: (row) => row.name },
          {
            id: 'client_id',
            head: WORDS.client_id,
            narrow: 'hide',
            cell: (row) => <span class="mono small">{row.client_id}</span>,
          },
          {
            id: 'kind',
            head: WORDS.kind,
            cell: (row) => (
              <span class="row">
                {row.confidential ? WORDS.with_secret : WORDS.public_client}
                <Show when={row.confidential && !row.client_secret_set}>
                  <Badge tone="bad">{WORDS.no_secret}</Badge>
                </Show>
                <Show when={row.trusted}>
                  <Badge tone="brass">{WORDS.trust}</Badge>
                </Show>
              </span>
            ),
          },
        ]}
        actions={(row) => (
          <>
            <Show when={row.confidential}>
              <IconButton icon="key" size="small" label={`${WORDS.renew}: ${row.name}`} onPress={() => void renew(row)} />
            </Show>
            <IconButton icon="edit" size="small" label={`${WORDS.edit} ${row.name}`} onPress={() => setEditing(row)} />
            <IconButton icon="trash" size="small" label={`${WORDS.delete} ${row.name}`} onPress={() => void remove(row)} />
          </>
        )}
        empty={
          <EmptyState icon="key" title={WORDS.no_apps_title} action={create()}>
            <p>{WORDS.no_apps}</p>
          </EmptyState>
        }
      />
      <Dialog open={creating()} title={WORDS.create_title} onClose={() => setCreating(false)}>
        <NewApp
          onCancel={() => setCreating(false)}
          onDone={(app) => {
            setCreating(false);
            setMade(app);
          }}
        />
      </Dialog>
      <Dialog
        open={editing() !== undefined}
        title={WORDS.edit_title(editing()?.name ?? '')}
        onClose={() => setEditing(undefined)}
      >
        <Show when={editing()} keyed>
          {(app) => (
            <EditApp
              app={app}
              onCancel={() => setEditing(undefined)}
              onDone={() => {
                setEditing(undefined);
              }}
            />
          )}
        </Show>
      </Dialog>
      <SecretOnce
        open={made() !== undefined}
        title={WORDS.secret_title(made()?.name ?? '')}
        secrets={secrets()}
        onClose={() => setMade(undefined)}
      />
    </Panel>
  );
}
