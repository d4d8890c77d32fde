import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Context } from 'hono';
import { isOurs } from '#core/edge/service-token.ts';
import { AppError } from '#core/errors.ts';
import type { ServerEnv } from './server-env.ts';
import { clientAddress } from '#core/edge/client-address.ts';
import { authenticateBearer, countCalls, requireAgents, type Bearer } from '#core/identity/agent-bearers.ts';
import { afterCommit } from '#core/platform/after-commit.ts';
import type { OperationName } from '#core/contract/index.ts';
import type { Operation } from '#core/contract/operation.ts';
import type { RequestContext } from '#core/context/context.ts';
import { recordActivity } from '#core/observe/agent-activity.ts';

type Edge = Context<ServerEnv>;

/** The caller's address. The agent, which sends the service token, states the address of its client. */
export function callerAddress(app: ControlPlane, c: Edge): string | null {
  if (isAgent(app, c)) return c.req.header('x-client-address')?.slice(0, 64) ?? null;
  return peerAddress(app, c);
}

/** The address that a request comes from, through trusted proxies. */
export function peerAddress(app: ControlPlane, c: Edge): string | null {
  return clientAddress(c.env?.address ?? null, c.req.header('x-forwarded-for') ?? null, app.env.SVC_TRUSTED_PROXIES);
}

/** Whether the agent sends this, which has already counted the call. Throws for a wrong service token. */
export function isAgent(app: ControlPlane, c: Edge): boolean {
  if (c.req.header('x-service-token') === undefined) return false;
  requireServiceToken(app, c);
  return true;
}

/** The token of `Authorization: Bearer`; null when there is none. Another scheme is for a proxy in front of us. */
export function bearerOf(c: Edge): string | null {
  const header = c.req.header('authorization');
  if (header === undefined || !/^bearer\b/i.test(header)) return null;
  const token = /^bearer +(\S+) *$/i.exec(header)?.[1];
  if (token === undefined) throw new AppError('unauthenticated', 'Send the token as Authorization: Bearer <token>.');
  return token;
}

/** Refuses callers that are not signed-in administrators: 403 for a valid token, 401 otherwise. */
export async function refuseOthers(app: ControlPlane, c: Edge, sentence: string): Promise<never> {
  const token = bearerOf(c);
  if (token === null) throw new AppError('unauthenticated', 'Sign in first. This request has no valid session.');
  await authenticateBearer(app, token, callerAddress(app, c), isAgent(app, c));
  throw new AppError('admin_only', sentence);
}

/** Runs a call for a bearer token, with its rate limit and an activity entry. */
export async function asBearer<T>(
  app: ControlPlane,
  c: Edge,
  token: string,
  name: OperationName,
  { agent }: Operation,
  work: (call: Pick<RequestContext, 'actor' | 'by_name'>) => Promise<T>,
): Promise<T> {
  const started = performance.now();
  const client_ip = callerAddress(app, c);
  const through_agent = isAgent(app, c);
  const bearer = await authenticateBearer(app, token, client_ip, through_agent);
  const record = (error: string | null) => {
    const call = { tool_name: agent ?? name, client_ip, error, duration_ms: performance.now() - started };
    return afterCommit(app, 'noting the activity', () => recordAgentCall(app, bearer, call));
  };
  try {
    await requireAgents(app);
    if (!through_agent) await countCalls(app, bearer, 1);
    const answer = await work({ actor: bearer.actor, by_name: through_agent });
    await record(null);
    return answer;
  } catch (error) {
    await record(error instanceof AppError ? error.code : 'internal');
    throw error;
  }
}

interface ActivityDetails {
  readonly tool_name: string;
  readonly client_ip: string | null;
  readonly error: string | null;
  readonly duration_ms: number;
}

/** Records the call in the activity log, and as a line of the live log. */
export async function recordAgentCall(
  app: ControlPlane,
  { actor, token_prefix }: Bearer,
  record: ActivityDetails,
): Promise<void> {
  const { tool_name, client_ip, error } = record;
  const duration_ms = Math.round(record.duration_ms * 10) / 10;
  const entry = {
    timestamp: app.clock().toISOString(),
    token_prefix,
    token_name: actor.name,
    tool_name,
    client_ip,
    country: await app.countries.of(client_ip),
    success: error === null,
    duration_ms,
    error,
  };
  await recordActivity(app, entry);
  const log = app.log.from('agent');
  const fields = { tool: tool_name, token_name: actor.name, token_prefix, client_ip, duration_ms };
  if (error === null) log.info('agent call', fields);
  else log.warning('agent call failed', { ...fields, code: error });
}

/** Throws without the service token, which is compared in constant time. Cookies do not count. */
export function requireServiceToken(app: ControlPlane, c: Context): void {
  if (isOurs(c.req.raw.headers, app.env.SVC_AGENT_SERVICE_TOKEN)) return;
  throw new AppError(
    'unauthenticated',
    'The service token is missing or wrong. SVC_AGENT_SERVICE_TOKEN must be the same on server, host and agent.',
  );
}
