import { createSignal, Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { SecretOnce } from '#ui/src/components/show/secret-once.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { ConnectClient } from './connect-client.tsx';
import { NewToken } from './token-form.tsx';

type Made = Output<'mcp_tokens.create'>;

/** Creates an access token and shows it once, in the text for each client. */
export function NewTokenDialog(props: { open: boolean; onClose: () => void; onMade: (token: string) => void }) {
  const [made, setMade] = createSignal<Made>();
  return (
    <>
      <Dialog open={props.open} title="New access token" onClose={props.onClose}>
        <NewToken
          onCancel={props.onClose}
          onDone={(token) => {
            // Closed first: the second dialog then knows what the first was opened from.
            props.onClose();
            setMade(token);
            props.onMade(token.token);
          }}
        />
      </Dialog>
      <SecretOnce
        of={made()}
        title={({ name }) => `Token “${name}”`}
        secrets={({ token }) => [{ label: 'Access token', value: token }]}
        onClose={() => setMade(undefined)}
      >
        {({ token }) => <Snippets token={token} />}
      </SecretOnce>
    </>
  );
}

function Snippets(props: { token: string }) {
  const health = useQuery((read) => read('server.health', {}));
  return (
    <Show when={health.data()?.auth_type === 'bearer'}>
      <ConnectClient server={health.data()} label="Clients" token={props.token} />
    </Show>
  );
}
