import { Show } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Panel } from '#ui/src/components/panel.tsx';
import { Snippet } from '#ui/src/components/show/snippet.tsx';
import { ConnectClient } from './connect-client.tsx';

const TITLE = 'Connect a client';

/** How clients reach the deployed server. `address`: the address alone as well. `token`: one that was created on the same page. */
export function ConnectPanel(props: {
  server: Output<'server.health'> | undefined;
  address?: boolean;
  token?: string | undefined;
}) {
  return (
    <Panel title={TITLE}>
      <Show when={props.address && props.server}>{(server) => <Snippet label="the MCP address" text={server().mcp_url} />}</Show>
      <ConnectClient server={props.server} label={TITLE} token={props.token} />
    </Panel>
  );
}
