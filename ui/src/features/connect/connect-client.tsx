import { Show } from 'solid-js';
import type { ServerConfig } from '#core/contract/settings/config.ts';
import { clientTexts } from '#core/client-texts.ts';
import type { Output } from '#core/contract/index.ts';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { uriVariables } from '#ui/src/features/builder/drafts.ts';
import { ClientTexts } from './client-texts.tsx';

const MOST_RESOURCES = 500;
const MOST_OFFERED = 3;

/** Where the token in the texts comes from. */
const TOKEN_WORDS: Readonly<Record<Exclude<ServerConfig['auth_type'], 'none'>, string>> = {
  bearer: 'Replace YOUR_TOKEN with an access token. A new one, created under MCP access, is filled in for you.',
  oauth_credentials:
    'Replace YOUR_TOKEN with a token from the token endpoint. It is short-lived: a client that can get tokens itself needs the client ID and secret instead.',
  oauth_introspection:
    'Replace YOUR_TOKEN with a token of your authorization server. A client that can sign in there needs no header.',
  jwt: 'Replace YOUR_TOKEN with a token of your authorization server. A client that can sign in there needs no header.',
  oauth: 'The client opens a browser window, where you sign in. No token is needed.',
};

/** How clients connect to the deployed server; the same texts on every page. */
export function ConnectClient(props: {
  server: Output<'server.health'> | undefined;
  label: string;
  /** A token that was just created. */
  token?: string | undefined;
}) {
  const stdio = useQuery((read) => read('server.stdio', {}));
  const templates = useQuery(async (read) => {
    const { items } = await read('resources.list', { enabled: true, limit: MOST_RESOURCES });
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
      <Show when={texts()} fallback={<SkeletonList rows={2} label="Loading the address" />}>
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
