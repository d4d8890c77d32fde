import { isOurs } from '#core/edge/service-token.ts';
import { DEFINITION_KEYS_PATH } from '#core/edge/mcp-endpoint.ts';
import { definitionKeysAnswer, type Signatures } from '#mcp-host/dispatch/definitions.ts';
import type { NotServing } from '#mcp-host/dispatch/serving.ts';
import type { HostHealth } from '#mcp-host/observe/health.ts';
import { reply } from '#mcp-host/protocol/replies.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';

interface Options {
  readonly service_token: string;
  readonly health: () => HostHealth;
  readonly health_is_readiness?: boolean;
  readonly signatures?: Signatures;
}

/** Paths that answer without a credential, whatever is served. */
export const OPEN_PATHS: Readonly<
  Record<string, (request: Request, now: Registry | NotServing, options: Options) => Response | Promise<Response>>
> = {
  '/health': (request, _, options) => answerHealth(request, options),
  '/.well-known/openai-apps-challenge': answerChallenge,
  [DEFINITION_KEYS_PATH]: (request, _, { signatures }) => definitionKeysAnswer(request, signatures),
};

/** Only requests with the service token get names, queues and metrics; others get the status. */
async function answerHealth(request: Request, { health, service_token, health_is_readiness }: Options): Promise<Response> {
  if (request.method !== 'GET') return reply('{"error":"method_not_allowed"}', 405, { allow: 'GET' });
  const all = health();
  const init = { status: health_is_readiness === true && all.status !== 'running' ? 503 : 200 };
  if (isOurs(request.headers, service_token)) return Response.json(all, init);
  const { status, snapshot_version, server_name, transport, uptime_seconds, access_tokens } = all;
  return Response.json({ status, snapshot_version, server_name, transport, uptime_seconds, access_tokens }, init);
}

/** Proves to OpenAI that the domain belongs to the operator of the server. */
function answerChallenge({ method }: Request, now: Registry | NotServing): Response {
  if (method !== 'GET') return reply('{"error":"method_not_allowed"}', 405, { allow: 'GET' });
  const text = 'idle' in now ? null : (now.server.openai_apps_challenge ?? null);
  return text === null ? reply('{"error":"not_found"}', 404) : new Response(text, { headers: { 'content-type': 'text/plain' } });
}
