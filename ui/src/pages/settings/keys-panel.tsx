import { createSignal } from 'solid-js';
import { KEY_CHOICES } from '#core/contract/identity/signing-keys.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

const TONES = { current: 'good', next: 'info', retired: 'plain' } as const;

/** The keys that sign access tokens, and their rotation. */
export function KeysPanel() {
  const { call } = useKernel();
  const { ask } = useAct();
  const keys = useQuery((read) => read('signing_keys.get', {}));
  const [busy, setBusy] = createSignal(false);

  const rotate = async () => {
    setBusy(true);
    const question = {
      title: 'Rotate the signing keys?',
      text: 'New tokens are signed with the next key, which hosts already know. Tokens signed before stay valid until they expire.',
      action: 'Rotate keys',
      danger: false,
    };
    await ask(question, () => call('signing_keys.rotate', {}), 'Rotated the signing keys.');
    setBusy(false);
    await keys.reload();
  };

  return (
    <Panel
      title="Signing keys"
      lead="These keys sign the access tokens of people who signed in from MCP clients, and rotate every 90 days."
      flush
      actions={
        <Button size="small" icon="refresh" busy={busy()} onPress={() => void rotate()}>
          Rotate keys
        </Button>
      }
    >
      <DataTable
        label="Signing keys"
        list={keys}
        key={({ kid }) => kid}
        columns={[
          { id: 'key', head: 'Key ID', cell: (key) => <span class="mono small cell-text">{key.kid}</span> },
          {
            id: 'state',
            head: 'State',
            cell: (key) => (
              <Badge tone={TONES[key.state]} title={KEY_CHOICES[key.state].help}>
                {KEY_CHOICES[key.state].label}
              </Badge>
            ),
          },
          { id: 'since', head: 'Since', cell: (key) => <Ago iso={key.since} /> },
        ]}
        empty={
          <EmptyState icon="key" title="No signing keys yet">
            <p>The first sign-in from an MCP client creates them.</p>
          </EmptyState>
        }
      />
    </Panel>
  );
}
