import { Show } from 'solid-js';
import { clientTexts } from '#core/client-texts.ts';
import type { Output } from '#core/contract/index.ts';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { ClientTexts } from './client-texts.tsx';

/** How clients connect to a candidate: with its token, whatever the live version asks for, and over the network alone. */
export function CandidateTexts(props: { candidate: Pick<Output<'candidates.create'>, 'url'>; token?: string | undefined }) {
  const health = useQuery((read) => read('server.health', {}));
  const stdio = useQuery((read) => read('server.stdio', {}));
  const problem = () => health.problem() ?? stdio.problem();
  const texts = () => {
    const [server, command] = [health.data(), stdio.data()];
    if (server === undefined || command === undefined) return undefined;
    const server_name = `${server.server_name} candidate`;
    const { url } = props.candidate;
    const shown = { server_name, auth_type: 'bearer', transport: 'http', url, token: props.token, stdio: command } as const;
    return clientTexts(shown).filter(({ id }) => id !== 'stdio');
  };
  return (
    <>
      <Show when={problem()}>
        {(shown) => <ProblemNotice problem={shown()} onRetry={() => void Promise.all([health.reload(), stdio.reload()])} />}
      </Show>
      <Show when={texts()} fallback={<SkeletonList rows={2} label="Loading the address" failed={problem()} />}>
        {(shown) => <ClientTexts texts={shown()} label="Connect a client" />}
      </Show>
    </>
  );
}
