import { clientTexts } from '#core/client/client-texts.ts';
import type { Output } from '#core/contract/index.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { together } from '#ui/src/kernel/data/query.ts';
import { ClientTexts } from './client-texts.tsx';

/** How clients connect to a candidate: with its token, whatever the live version asks for, and over the network alone. */
export function CandidateTexts(props: { candidate: Pick<Output<'candidates.create'>, 'url'>; token?: string | undefined }) {
  const health = useQuery((read) => read('server.health', {}));
  const stdio = useQuery((read) => read('server.stdio', {}));
  const texts = () => {
    const [server, command] = [health.data(), stdio.data()];
    if (server === undefined || command === undefined) return undefined;
    const server_name = `${server.server_name} candidate`;
    const { url } = props.candidate;
    const shown = { server_name, auth_type: 'bearer', transport: 'http', url, token: props.token, stdio: command } as const;
    return clientTexts(shown).filter(({ id }) => id !== 'stdio');
  };
  return (
    <Loaded of={{ ...together(health, stdio), data: texts }} rows={2} label="Loading the address">
      {(shown) => <ClientTexts texts={shown()} label="Connect a client" />}
    </Loaded>
  );
}
