import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Hono } from 'hono';
import * as v from 'valibot';
import { AgentLines, type AgentSettings } from '#core/contract/identity/agent-channel.ts';
import { AppError } from '#core/errors.ts';
import { refuseUnkeepable, toInvalid } from '#core/process/issues.ts';
import { networkOf } from '#core/edge/client-address.ts';
import { countMinute } from '#core/cluster/kv.ts';
import { authenticateBearer, countCalls, requireAgents } from '#core/identity/agent-bearers.ts';
import { grantTokens } from '#core/identity/agent-grants.ts';
import { issuerOf } from '#core/settings/public-urls.ts';
import { signInRefusal } from '#core/identity/oauth/resources.ts';
import { guardEnabled, readSettings } from '#core/settings/settings.ts';
import { recordAgentCall } from '#server/request/bearer.ts';
import { readJson } from '#server/request/body.ts';
import type { LiveLogs } from '../hosts/live-logs.ts';
import type { ServerEnv } from '#server/request/server-env.ts';

const SMALL = 64 * 1024;
const MOST_LINES = 4 * 1024 * 1024;
const ADDRESS = v.nullable(v.pipe(v.string(), v.maxLength(64)));

const Authorize = v.object({
  token: v.string(),
  client_address: ADDRESS,
  /** Names of the tools that the request is about to call; each counts towards the rate limit. */
  calls: v.pipe(v.array(v.string()), v.maxLength(100)),
});

/** A call that the agent refused and did not send on. */
const Refused = v.object({
  token: v.string(),
  client_address: ADDRESS,
  tool: v.pipe(v.string(), v.maxLength(128)),
  error: v.picklist(['invalid', 'not_found']),
});

const optional = v.optional(v.string());
const Grant = v.object({
  client_address: ADDRESS,
  grant_type: optional,
  refresh_token: optional,
  scope: optional,
  client_id: optional,
  client_secret: optional,
});

/** Maximum token requests from one address per minute. */
const GRANTS_A_MINUTE = 120;

/** Requests of the agent endpoint. The service token was checked before. */
export function addAgentRoutes(app: ControlPlane, router: Hono<ServerEnv>, live_logs: LiveLogs): void {
  router.get('/api/internal/agent/settings', async (c) => c.json(await agentSettings(app)));
  router.post('/api/internal/agent/lines', async (c) => {
    const sent = v.safeParse(AgentLines, await readJson(c.req.raw, MOST_LINES));
    if (!sent.success) throw toInvalid(sent.issues, []);
    live_logs.takeFromAgent(sent.output.lines);
    return c.body(null, 204);
  });
  router.post('/api/internal/agent/authorize', async (c) => {
    const { token, client_address, calls } = parse(Authorize, await readJson(c.req.raw, SMALL));
    await requireAgents(app);
    const bearer = await authenticateBearer(app, token, client_address, true);
    try {
      await countCalls(app, bearer, calls.length);
    } catch (error) {
      const code = error instanceof AppError ? error.code : 'internal';
      for (const tool_name of calls) {
        await recordAgentCall(app, bearer, {
          tool_name: tool_name.slice(0, 128),
          client_ip: client_address,
          error: code,
          duration_ms: 0,
        });
      }
      throw error;
    }
    const { actor } = bearer;
    return c.json({ type: actor.type, id: actor.id, name: actor.name, scopes: actor.scopes });
  });
  router.post('/api/internal/agent/activity', async (c) => {
    const { token, client_address, tool, error } = parse(Refused, await readJson(c.req.raw, SMALL));
    const bearer = await authenticateBearer(app, token, client_address, true);
    await recordAgentCall(app, bearer, { tool_name: tool, client_ip: client_address, error, duration_ms: 0 });
    return c.body(null, 204);
  });
  router.post('/api/internal/agent/token', async (c) => {
    const { client_address, ...request } = parse(Grant, await readJson(c.req.raw, SMALL));
    await requireAgents(app);
    const { count, retry_after } = await countMinute(app, `agent-grants:${networkOf(client_address ?? '')}`);
    if (count > GRANTS_A_MINUTE) {
      throw new AppError('rate_limited', `Too many tokens were requested. Wait ${retry_after} seconds.`, { retry_after });
    }
    return c.json(await grantTokens(app, request, client_address));
  });
}

async function agentSettings(app: ControlPlane): Promise<AgentSettings> {
  const { settings } = await readSettings(app);
  const { cors_origins, ui_domain, mcp_domain, prompt_guard_threshold: threshold, prompt_guard_allow: allow } = settings;
  const issuer = await issuerOf(app);
  return {
    cors_origins: [...cors_origins],
    issuer: signInRefusal(issuer) === null ? issuer : null,
    domains: [ui_domain, mcp_domain].filter((name) => name !== null),
    guard: guardEnabled(app.env, settings) ? { threshold, allow: [...allow] } : null,
  };
}

function parse<T extends v.GenericSchema>(schema: T, value: Record<string, unknown>): v.InferOutput<T> {
  // The activity log stores the names of tools that a client calls.
  refuseUnkeepable(value);
  const result = v.safeParse(schema, value);
  if (!result.success) throw toInvalid(result.issues, []);
  return result.output;
}
