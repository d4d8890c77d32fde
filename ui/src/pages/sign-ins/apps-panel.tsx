import { createSignal, Show } from 'solid-js';
import type { OauthApp } from '#core/contract/identity/oauth.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button, IconButton } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SecretOnce } from '#ui/src/components/show/secret-once.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { useCachedPages } from '#ui/src/components/use-pages.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { EditApp, type Made, NewApp } from './app-form.tsx';

/** Clients that an administrator registers by hand. */
export function AppsPanel() {
  const { call, dialogs } = useKernel();
  const { act, ask } = useAct();
  const list = useCachedPages((read, skip, limit) => read('oauth_apps.list', { skip, limit }));
  const [creating, setCreating] = createSignal(false);
  const [editing, setEditing] = createSignal<OauthApp>();
  const [made, setMade] = createSignal<Made>();

  const remove = async ({ id, name }: OauthApp) => {
    await ask(
      {
        title: `Delete ${name}?`,
        text: 'Everyone who signed in with it is signed out within a second. The history can restore the app.',
        action: 'Delete',
      },
      () => call('oauth_apps.delete', { id }),
      `${name} was deleted`,
    );
  };
  const renew = async ({ id, version, name, client_secret_set }: OauthApp) => {
    const agreed =
      !client_secret_set ||
      (await dialogs.confirm({
        title: `New secret for ${name}?`,
        text: 'The current secret stops working at once. Enter the new one in the app.',
        action: 'New secret',
        danger: true,
      }));
    const app = agreed ? await act(() => call('oauth_apps.renew_secret', { id, version })) : undefined;
    if (app !== undefined) setMade(app);
  };
  const secretsOf = ({ client_id, client_secret }: Made) => {
    const id = { label: 'Client ID', value: client_id };
    return client_secret === null ? [id] : [id, { label: 'Client secret', value: client_secret }];
  };
  const create = () => (
    <Button size="small" icon="plus" onPress={() => setCreating(true)}>
      New app
    </Button>
  );

  return (
    <Panel
      title="OAuth apps"
      lead="Clients that you register by hand because they can neither register themselves nor publish a metadata document."
      flush
      actions={create()}
    >
      <DataTable
        label="OAuth apps"
        pages={list}
        key={(row) => row.id}
        columns={[
          { id: 'name', head: 'Name', text: (row) => row.name },
          {
            id: 'client_id',
            head: 'Client ID',
            narrow: 'hide',
            cell: (row) => <span class="mono small">{row.client_id}</span>,
          },
          {
            id: 'kind',
            head: 'Type',
            cell: (row) => (
              <span class="row">
                {row.confidential ? 'With secret' : 'Public'}
                <Show when={row.confidential && !row.client_secret_set}>
                  <Badge tone="bad">Secret missing</Badge>
                </Show>
                <Show when={row.trusted}>
                  <Badge tone="warning">Trusted</Badge>
                </Show>
              </span>
            ),
          },
        ]}
        actions={(row) => (
          <>
            <Show when={row.confidential}>
              <IconButton icon="key" size="small" label={`New secret: ${row.name}`} onPress={() => renew(row)} />
            </Show>
            <IconButton icon="edit" size="small" label={`Edit ${row.name}`} onPress={() => setEditing(row)} />
            <IconButton icon="trash" size="small" label={`Delete ${row.name}`} onPress={() => remove(row)} />
          </>
        )}
        empty={
          <EmptyState icon="key" title="No apps" action={create()}>
            <p>Most clients need none: they register themselves or publish a metadata document.</p>
          </EmptyState>
        }
      />
      <Dialog open={creating()} title="New OAuth app" onClose={() => setCreating(false)}>
        <NewApp
          onCancel={() => setCreating(false)}
          onDone={(app) => {
            setCreating(false);
            setMade(app);
          }}
        />
      </Dialog>
      <DialogOf of={editing()} title={({ name }) => `Edit ${name}`} onClose={() => setEditing(undefined)}>
        {(app) => <EditApp app={app} onCancel={() => setEditing(undefined)} onDone={() => setEditing(undefined)} />}
      </DialogOf>
      <SecretOnce of={made()} title={({ name }) => `App “${name}”`} secrets={secretsOf} onClose={() => setMade(undefined)} />
    </Panel>
  );
}
