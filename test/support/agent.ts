import { createAgent } from '#agent/http.ts';
import type { Scope } from '#core/contract/operation.ts';
import type { Tally } from '#agent/tools/tools.ts';
import { type ClientKind, connectClient, type McpClient } from '#test/support/mcp-clients.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';

export interface ListeningAgent {
  readonly s: ListeningServer;
  /** The agent's own port. */
  readonly url: string;
  readonly tally: Tally;
  /** A new token with these scopes. */
  token(scopes?: readonly Scope[]): Promise<string>;
  /** An official client on the front port. */
  client(kind: ClientKind, token: string, path?: string): Promise<McpClient>;
  stop(): Promise<void>;
}

/** A server and an agent that listen on free ports, in this process. */
export async function listeningAgent(variables: Record<string, string> = {}, service_token?: string): Promise<ListeningAgent> {
  let answer: (request: Request, address: string | null) => Promise<Response> = async () => new Response(null, { status: 503 });
  const listener = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: (request, server) => answer(request, server.requestIP(request)?.address ?? null),
  });
  const url = `http://127.0.0.1:${listener.port}`;
  const s = await listeningServer(undefined, { SVC_AGENT_MCP_URL: url, SVC_ALLOW_PRIVATE_NETWORKS: 'true', ...variables });
  const tally = { undeclared: 0 };
  answer = createAgent({
    server_url: s.url,
    service_token: service_token ?? s.service_token,
    public_url: s.server.app.env.SVC_PUBLIC_URL,
    local_url: s.url,
    trusted_proxies: s.server.app.env.SVC_TRUSTED_PROXIES,
    allowed_hosts: new Set(),
    local_ports: new Set(),
    log: s.log,
    tally,
  });
  await s.signIn();
  return {
    s,
    url,
    tally,
    async token(scopes: readonly Scope[] = ['read', 'write', 'deploy']) {
      return (await s.call('agent_tokens.create', { name: 'Claude', duration_minutes: 60, scopes: [...scopes] })).token;
    },
    client: (kind, token, path = '/agent-mcp/mcp') =>
      connectClient(kind, `${s.url}${path}`, { authorization: `Bearer ${token}` }),
    async stop() {
      await listener.stop(true);
      await s.stop();
    },
  };
}
