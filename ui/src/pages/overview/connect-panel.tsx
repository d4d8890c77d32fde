import type { Output } from '#core/contract/index.ts';
import { ConnectClient } from '#ui/src/components/connect-client.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Snippet } from '#ui/src/components/snippet.tsx';

const TITLE = 'Connect a client';

/** How clients reach the deployed server. */
export function ConnectPanel(props: { server: Output<'server.health'> }) {
  return (
    <Panel title={TITLE}>
      <div class="panel-body stack">
        <Snippet label="the MCP address" text={props.server.mcp_url} />
        <ConnectClient server={props.server} label={TITLE} />
      </div>
    </Panel>
  );
}
