import type { Hono } from 'hono';
import * as v from 'valibot';
import type { App } from '#core/app.ts';
import { AppError } from '#core/errors.ts';
import { refuseUnkeepable, toInvalid } from '#core/issues.ts';
import { authenticateBearer, countCalls, requireAgents } from '#core/services/agent-bearers.ts';
import { grantTokens } from '#core/services/agent-grants.ts';
import { tellActivity } from './bearer.ts';
import { readJson } from './body.ts';
import type { ServerEnv } from './routes.ts';

const SMALL = 64 * 1024;
const ADDRESS = v.nullable(v.pipe(v.string(), v.maxLength(64)));

const Authorize = v.object({
  token: v.string(),
  client_address: ADDRESS,
  /** Names of the tools that the request is about to call: each counts. */
  calls: v.pipe(v.array(v.string()), v.maxLength(100)),
});

/** A call that the agent refused by itself. */
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

/** Requests for tokens from one address in a minute. */
const GRANTS_A_MINUTE = 120;
const MINUTE_MS = 60_000;

/** What the agent endpoint asks (contract section 0). The service token was checked before. */
export function addAgentRoutes(app: App, router: Hono<ServerEnv>): void {
  router.post('/api/internal/agent/authorize', async (c) => {
    const { token, client_address, calls } = parse(Authorize, await readJson(c.req.raw, SMALL));
    await requireAgents(app);
    const bearer = await authenticateBearer(app, token, client_address);
    try {
      await countCalls(app, bearer, calls.length);
    } catch (error) {
      const code = error instanceof AppError ? error.code : 'internal';
      for (const tool_name of calls) {
        await tellActivity(app, bearer, {
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
    const bearer = await authenticateBearer(app, token, client_address);
    await tellActivity(app, bearer, { tool_name: tool, client_ip: client_address, error, duration_ms: 0 });
    return c.body(null, 204);
  });
  router.post('/api/internal/agent/token', async (c) => {
    const { client_address, ...request } = parse(Grant, await readJson(c.req.raw, SMALL));
    await requireAgents(app);
    const { count, resets_in_ms } = await app.kv.increment(`agent-grants:${client_address}`, MINUTE_MS);
    if (count > GRANTS_A_MINUTE) {
      const retry_after = Math.max(1, Math.ceil(resets_in_ms / 1_000));
      throw new AppError('rate_limited', `Too many tokens were asked for. Wait ${retry_after} seconds.`, { retry_after });
    }
    return c.json(await grantTokens(app, request, client_address));
  });
}

function parse<T extends v.GenericSchema>(schema: T, value: Record<string, unknown>): v.InferOutput<T> {
  // Names of tools that a client calls are told in the activity.
  refuseUnkeepable(value);
  const result = v.safeParse(schema, value);
  if (!result.success) throw toInvalid(result.issues, []);
  return result.output;
}
