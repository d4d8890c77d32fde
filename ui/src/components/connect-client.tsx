import { Show } from 'solid-js';
import type { ServerConfig } from '#core/contract/config.ts';
import { clientTexts } from '#core/client-texts.ts';
import type { Output } from '#core/contract/index.ts';
import { uriVariables } from '#ui/src/kernel/builder-drafts.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { ClientTexts } from './client-texts.tsx';
import { ProblemNotice } from './notice.tsx';
import { SkeletonList } from './skeleton.tsx';
import { useQuery } from './use-query.ts';

const MOST_RESOURCES = 500;
const MOST_OFFERED = 3;

/** Where the token in the texts comes from. */
const TOKEN_WORDS: Readonly<Record<Exclude<ServerConfig['auth_type'], 'none'>, string>> = {
  bearer: 'Replace YOUR_TOKEN with an access token.',
  oauth_credentials:
    'Replace YOUR_TOKEN with a token from the token endpoint. It is short-lived: a client that can get tokens itself needs the client ID and secret instead.',
  oauth_introspection:
    'Replace YOUR_TOKEN with a token of your authorization server. A client that can sign in there needs no header.',
};

/** How clients connect to the deployed server; the same texts on every page. */
export function ConnectClient(props: {
  server: Output<'server.health'> | undefined;
  label: string;
  /** A token that was just created. */
  token?: string | undefined;
}) {
  const { call } = useKernel();
  const stdio = useQuery((signal) => call('server.stdio', {}, signal));
  const templates = useQuery(async (signal) => {
    const { items } = await call('resources.list', { enabled: true, limit: MOST_RESOURCES }, signal);
    return items.filter(({ uri_template }) => uriVariables(uri_template).length > 0).slice(0, MOST_OFFERED);
  });
  const texts = () => {
    const [server, command] = [props.server, stdio.data()];
    if (server === undefined || command === undefined) return undefined;
    return clientTexts({ ...server, url: server.mcp_url, token: props.token, stdio: command });
  };
  const advice = () => {
    const auth_type = props.server?.auth_type ?? 'none';
    if (auth_type === 'none' || props.server?.transport === 'stdio') return undefined;
    return props.token === undefined ? TOKEN_WORDS[auth_type] : 'The token that you just created is filled in.';
  };
  return (
    <>
      <Show when={stdio.problem()}>{(problem) => <ProblemNotice problem={problem()} onRetry={() => void stdio.reload()} />}</Show>
      <Show when={texts()} fallback={<SkeletonList rows={2} label="Reading the address" />}>
        {(shown) => (
          <>
            <Show when={advice()}>{(text) => <p class="small soft">{text()}</p>}</Show>
            <ClientTexts texts={shown()} label={props.label} templates={templates.data()} />
          </>
        )}
      </Show>
    </>
  );
}
