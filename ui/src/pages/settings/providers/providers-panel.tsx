import { createSignal, Show } from 'solid-js';
import type { IdentityProvider } from '#core/contract/identity/identity-providers.ts';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { ProviderForm } from './provider-form.tsx';
import { ProviderTest } from './provider-test.tsx';
import { WORDS } from './provider-words.ts';

const MOST = 100;

/** The identity providers that people sign in with: added, tested, changed and deleted. */
export function ProvidersPanel() {
  const { call, toasts } = useKernel();
  const { act, ask } = useAct();
  const list = useQuery((read) => read('identity_providers.list', { limit: MOST }));
  const [adding, setAdding] = createSignal(false);
  const [editing, setEditing] = createSignal<IdentityProvider>();
  const [testing, setTesting] = createSignal<IdentityProvider>();

  const remove = ({ id, name, people }: IdentityProvider) =>
    ask(
      { title: WORDS.remove_title(name), text: WORDS.remove_text(people), action: WORDS.remove },
      () => call('identity_providers.delete', { id }),
      WORDS.removed(name),
    );
  const enable = ({ id, name, version, enabled }: IdentityProvider) =>
    act(() => call('identity_providers.update', { id, version, enabled: !enabled }), WORDS.saved(name));
  const saved = (provider: IdentityProvider) => {
    setAdding(false);
    setEditing(undefined);
    toasts.show(WORDS.saved(provider.name), 'good');
    setTesting(provider);
  };

  return (
    <Panel
      title={WORDS.title}
      lead={WORDS.lead}
      flush
      actions={
        <Button size="small" icon="plus" onPress={() => setAdding(true)}>
          {WORDS.add}
        </Button>
      }
    >
      <DataTable
        label={WORDS.title}
        list={list}
        key={({ id }) => id}
        muted={({ enabled }) => !enabled}
        columns={[
          { id: 'name', head: WORDS.name, cell: ({ name }) => name, sort: ({ name }) => name },
          {
            id: 'issuer',
            head: WORDS.issuer,
            narrow: 'hide',
            cell: (row) => <span class="mono small truncate">{row.issuer}</span>,
          },
          { id: 'people', head: WORDS.people, narrow: 'hide', cell: (row) => <span class="num">{row.people}</span> },
          {
            id: 'state',
            head: WORDS.state,
            cell: (row) => (
              <StatusDot tone={row.enabled ? 'good' : 'plain'} label={row.enabled ? WORDS.enabled : WORDS.disabled} />
            ),
          },
        ]}
        actions={(provider) => (
          <Menu
            label={`More for ${provider.name}`}
            size="small"
            items={[
              { label: WORDS.edit, icon: 'sliders', onSelect: () => setEditing(provider) },
              { label: WORDS.test, icon: 'bolt', onSelect: () => setTesting(provider) },
              provider.enabled
                ? { label: WORDS.disable, icon: 'pause', onSelect: () => void enable(provider) }
                : { label: WORDS.enable, icon: 'play', onSelect: () => void enable(provider) },
              'line',
              { label: WORDS.remove, icon: 'trash', danger: true, onSelect: () => void remove(provider) },
            ]}
          />
        )}
        empty={
          <EmptyState
            icon="key"
            title={WORDS.empty_title}
            action={
              <Button icon="plus" onPress={() => setAdding(true)}>
                {WORDS.add}
              </Button>
            }
          >
            <p>{WORDS.empty}</p>
          </EmptyState>
        }
      />
      <Dialog open={adding()} title={WORDS.add_title} size="wide" onClose={() => setAdding(false)}>
        <ProviderForm onDone={saved} onCancel={() => setAdding(false)} />
      </Dialog>
      <Dialog
        open={editing() !== undefined}
        title={WORDS.edit_title(editing()?.name ?? '')}
        size="wide"
        onClose={() => setEditing(undefined)}
      >
        <Show when={editing()} keyed>
          {(provider) => <ProviderForm provider={provider} onDone={saved} onCancel={() => setEditing(undefined)} />}
        </Show>
      </Dialog>
      <Dialog
        open={testing() !== undefined}
        title={WORDS.test_title(testing()?.name ?? '')}
        onClose={() => setTesting(undefined)}
      >
        <Show when={testing()} keyed>
          {(provider) => <ProviderTest provider={provider} />}
        </Show>
      </Dialog>
    </Panel>
  );
}
