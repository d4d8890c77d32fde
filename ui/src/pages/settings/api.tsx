import { CodeBlock } from '#ui/src/components/show/code-block.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';

/** Where programs reach the server, and where what they can do is described. */
export function Api() {
  const { origin } = window.location;
  return (
    <Page title="API" lead="Everything in this interface can also be done over REST, and over MCP by an agent.">
      <Panel title="REST">
        <p class="small soft">Programs send a token for agents; its scopes limit what it can do.</p>
        <CodeBlock code={`curl -H "Authorization: Bearer YOUR_TOKEN" ${origin}/api/v1/tools`} label="First request" />
        <div class="row">
          <a class="button" href="/api/docs">
            REST API explorer
          </a>
          <a class="button" href="/api/redoc">
            API reference
          </a>
        </div>
      </Panel>
      <Panel title="MCP for agents">
        <p class="small soft">Agents administer this server with the tools at this address.</p>
        <CodeBlock code={`${origin}/agent-mcp/mcp`} label="Agent endpoint" />
        <div class="row">
          <LinkButton href="/agents" icon="bot">
            Tokens for agents
          </LinkButton>
        </div>
      </Panel>
    </Page>
  );
}
