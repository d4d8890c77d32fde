import { createSignal } from 'solid-js';
import type { SigningKeys } from '#core/contract/identity/signing-keys.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

type State = SigningKeys['items'][number]['state'];

const WORDS = {
  title: 'Signing keys',
  lead: 'They sign the access tokens of people who signed in from MCP clients, and rotate every 90 days.',
  rotate: 'Rotate keys',
  confirm_title: 'Rotate the signing keys?',
  confirm_text:
    'New tokens are signed with the next key, which hosts already know. Tokens signed before stay valid until they expire.',
  rotated: 'Rotated the signing keys.',
  key: 'Key ID',
  state: 'State',
  since: 'Since',
  empty_title: 'No signing keys yet',
  empty: 'The first sign-in from an MCP client creates them.',
} as const;
const STATES = {
  current: { label: 'Signs', tone: 'good' },
  next: { label: 'Next', tone: 'water' },
  retired: { label: 'Verifies only', tone: 'plain' },
} as const satisfies Record<State, { label: string; tone: string }>;

/** The keys that sign access tokens, and their rotation. */
export function KeysPanel() {
  const { call } = useKernel();
  const { ask } = useAct();
  const keys = useQuery((read) => read('signing_keys.get', {}));
  const [busy, setBusy] = createSignal(false);

  const rotate = async () => {
    setBusy(true);
    const question = { title: WORDS.confirm_title, text: WORDS.confirm_text, action: WORDS.rotate, danger: false };
    await ask(question, () => call('signing_keys.rotate', {}), WORDS.rotated);
    setBusy(false);
    await keys.reload();
  };

  return (
    <Panel
      title={WORDS.title}
      lead={WORDS.lead}
      flush
      actions={
        <Button size="small" icon="refresh" busy={busy()} onPress={() => void rotate()}>
          {WORDS.rotate}
        </Button>
      }
    >
      <DataTable
        label={WORDS.title}
        list={keys}
        key={({ kid }) => kid}
        columns={[
          { id: 'key', head: WORDS.key, cell: (key) => <span class="mono small truncate">{key.kid}</span> },
          {
            id: 'state',
            head: WORDS.state,
            cell: (key) => <Badge tone={STATES[key.state].tone}>{STATES[key.state].label}</Badge>,
          },
          { id: 'since', head: WORDS.since, cell: (key) => <Ago iso={key.since} /> },
        ]}
        empty={
          <EmptyState icon="key" title={WORDS.empty_title}>
            <p>{WORDS.empty}</p>
          </EmptyState>
        }
      />
    </Panel>
  );
}
