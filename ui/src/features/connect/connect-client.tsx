import type { ServerConfig } from '#core/contract/settings/config.ts';
import type { Output } from '#core/contract/index.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { uriVariables } from '#ui/src/features/builder/drafts.ts';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { TokenCost } from './token-cost.tsx';
import { ConnectTexts } from './connect-texts.tsx';

const MOST_RESOURCES = 500;
const MOST_OFFERED = 3;
const MOST_TOOLSETS = 200;

/** Where the token in the texts comes from. */
const TOKEN_WORDS: Readonly<Record<Exclude<ServerConfig['auth_type'], 'none'>, string>> = {
  bearer: 'Replace YOUR_TOKEN with an access token. A new one, created under Connect, is filled in for you.',
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
  const toolsets = useQuery(async (read) => (await read('toolsets.list', { enabled: true, limit: MOST_TOOLSETS })).items);
  const stdio = useQuery((read) => read('server.stdio', {}));
  const templates = useQuery(async (read) => {
    const { items } = await read('resources.list', { enabled: true, limit: MOST_RESOURCES });
    return items.filter(({ uri_template }) => uriVariables(uri_template).length > 0).slice(0, MOST_OFFERED);
  });
  const target = () => {
    const [server, command] = [props.server, stdio.data()];
    return server && command && { server, command };
  };
  const advice = () => {
    const auth_type = props.server?.auth_type ?? 'none';
    if (auth_type === 'none' || props.server?.transport === 'stdio') return undefined;
    return props.token === undefined ? TOKEN_WORDS[auth_type] : 'The token that you just created is filled in.';
  };
  return (
    <Loaded of={{ ...stdio, data: target }} rows={2} label="Loading the address">
      {(shown) => (
        <ConnectTexts
          server={shown().server}
          label={props.label}
          toolsets={toolsets.data() ?? []}
          everything="Everything the caller can see"
          hint={(toolset) => (
            <>
              <TokenCost toolset={toolset} />
              {toolset === undefined ? '' : ' The address works once the toolset is deployed.'}
            </>
          )}
          advice={advice()}
          token={props.token}
          stdio={shown().command}
          templates={templates.data()}
        />
      )}
    </Loaded>
  );
}
