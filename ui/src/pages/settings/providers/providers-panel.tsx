import { createSignal, Show } from 'solid-js';
import type { IdentityProvider } from '#core/contract/identity/identity-providers.ts';
import { Badge, StatusDot } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { enableItem, Menu } from '#ui/src/components/menu.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { DialogOf } from '#ui/src/components/dialog-of.tsx';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { ProviderForm } from './provider-form.tsx';
import { ProviderTest } from './provider-test.tsx';

const PAGE = 100;

/** The identity providers that people sign in with: added, tested, changed and deleted. */
export function ProvidersPanel() {
  const { call, toasts } = useKernel();
  const { act, ask } = useAct();
  const list = useQuery((read) => allOf((skip, limit) => read('identity_providers.list', { skip, limit }), PAGE));
  const [adding, setAdding] = createSignal(false);
  const [editing, setEditing] = createSignal<IdentityProvider>();
  const [testing, setTesting] = createSignal<IdentityProvider>();

  const remove = ({ id, name, people }: IdentityProvider) =>
    ask(
      {
        title: `Delete the provider “${name}”?`,
        text:
          people === 0
            ? 'Nobody signs in through it yet. The history can restore it.'
            : `${plural(people, 'person', 'people')} can no longer sign in through it. They are not deleted, and the history can restore the provider.`,
        action: 'Delete',
      },
      () => call('identity_providers.delete', { id }),
      `Deleted “${name}”.`,
    );
  const enable = ({ id, name, version, enabled }: IdentityProvider) =>
    act(() => call('identity_providers.update', { id, version, enabled: !enabled }), `Saved “${name}”.`);
  const saved = (provider: IdentityProvider) => {
    setAdding(false);
    setEditing(undefined);
    toasts.show(`Saved “${provider.name}”.`, 'good');
    setTesting(provider);
  };

  return (
    <Panel
      title="Identity providers"
      lead="People sign in with the account of their organization: Google, Entra, Okta, Keycloak or any other OpenID Connect provider."
      flush
      actions={
        <Button size="small" icon="plus" onPress={() => setAdding(true)}>
          Add provider
        </Button>
      }
    >
      <DataTable
        label="Identity providers"
        list={list}
        key={({ id }) => id}
        muted={({ enabled }) => !enabled}
        columns={[
          { id: 'name', head: 'Name', text: ({ name }) => name },
          {
            id: 'issuer',
            head: 'Issuer',
            narrow: 'hide',
            cell: (row) => <span class="mono small truncate">{row.issuer}</span>,
          },
          { id: 'people', head: 'People', narrow: 'hide', cell: (row) => <span class="num">{row.people}</span> },
          {
            id: 'state',
            head: 'State',
            cell: (row) => (
              <span class="row">
                <StatusDot tone={row.enabled ? 'good' : 'plain'} label={row.enabled ? 'Enabled' : 'Disabled'} />
                <Show when={row.client_secret_missing}>
                  <Badge tone="bad">Secret missing</Badge>
                </Show>
              </span>
            ),
          },
        ]}
        actions={(provider) => (
          <Menu
            label={`More for ${provider.name}`}
            size="small"
            items={[
              { label: 'Edit', icon: 'sliders', onSelect: () => setEditing(provider) },
              { label: 'Test', icon: 'bolt', onSelect: () => setTesting(provider) },
              enableItem(provider.enabled, () => void enable(provider)),
              'line',
              { label: 'Delete', icon: 'trash', danger: true, onSelect: () => void remove(provider) },
            ]}
          />
        )}
        empty={
          <EmptyState
            icon="key"
            title="No identity providers yet"
            action={
              <Button icon="plus" onPress={() => setAdding(true)}>
                Add provider
              </Button>
            }
          >
            <p>Register Sluice as a client with your provider, then add it here.</p>
          </EmptyState>
        }
      />
      <Dialog open={adding()} title="Add an identity provider" size="wide" onClose={() => setAdding(false)}>
        <ProviderForm onDone={saved} onCancel={() => setAdding(false)} />
      </Dialog>
      <DialogOf of={editing()} title={({ name }) => `Edit ${name}`} size="wide" onClose={() => setEditing(undefined)}>
        {(provider) => <ProviderForm provider={provider} onDone={saved} onCancel={() => setEditing(undefined)} />}
      </DialogOf>
      <DialogOf of={testing()} title={({ name }) => `Test of ${name}`} onClose={() => setTesting(undefined)}>
        {(provider) => <ProviderTest provider={provider} />}
      </DialogOf>
    </Panel>
  );
}
