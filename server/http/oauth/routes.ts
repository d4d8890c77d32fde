import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Context, Hono } from 'hono';
import { countMinute } from '#core/cluster/kv.ts';
import { readText } from '#core/edge/body.ts';
import { repeatedKey, repeatedKeySentence } from '#core/lib/text/repeated-key.ts';
import { BASIC_CHALLENGE, loginsOf, NO_STORE, readTokenForm, refuseToken } from '#core/edge/token-form.ts';
import { networkOf } from '#core/edge/client-address.ts';
import { AppError, asFault } from '#core/errors.ts';
import type { TokenAnswer } from '#core/identity/agent-grants.ts';
import { authorize } from '#core/identity/oauth/authorize.ts';
import { register } from '#core/identity/oauth/clients/registrations.ts';
import { serverMetadata } from '#core/identity/oauth/metadata.ts';
import { prepareKeys } from '#core/identity/oauth/keys.ts';
import { publicKeys } from '#core/identity/oauth/published.ts';
import { revokeToken } from '#core/identity/oauth/revoke.ts';
import { answerTokenRequest } from '#core/identity/oauth/tokens.ts';
import { randomToken } from '#core/lib/random-token.ts';
import type { Context as CallContext } from '#core/context/context.ts';
import { callerAddress } from '#server/request/bearer.ts';
import type { Front } from '../front.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { readBrowser, writeBrowser } from '#server/request/session.ts';
import { CONSENT_PATH } from '#server/request/open-paths.ts';
import { refusalPage } from './refusal-page.ts';

type Edge = Context<ServerEnv>;

const REGISTRATION = { max_bytes: 16 * 1024, within_ms: 10_000 };
/** Maximum token requests of one network per minute. */
const TOKENS_A_MINUTE = 600;
const METADATA = '/.well-known/oauth-authorization-server';

/** The authorization server. On the MCP domain the host answers at the same paths; pages for people are at the issuer. */
export function addOauth(app: ControlPlane, router: Hono<ServerEnv>, front: Front): void {
  const metadata = async (c: Edge, next: () => Promise<void>) => {
    if (await front.isMcpDomain(c)) return next();
    const document = await serverMetadata(app);
    if (document === null) return c.notFound();
    return c.json(document, 200, { 'cache-control': 'public, max-age=300' });
  };
  router.get(METADATA, metadata);
  // Clients that know only the address of the MCP endpoint insert its path. With the proxy, the host has the document.
  router.get(`${METADATA}/mcp`, async (c, next) => {
    if (!(await front.settings()).mcp_proxy) return metadata(c, next);
    await next();
    if (c.res.status !== 404) return;
    const local_answer = await metadata(c, () => Promise.resolve());
    if (local_answer === undefined) return;
    // Otherwise headers of the replaced answer would stay.
    c.res = undefined;
    c.res = local_answer;
  });
  router.get('/oauth/authorize', (c) => answerAuthorize(app, c));
  router.get(CONSENT_PATH, async (c, next) => {
    await next();
    c.res.headers.set('cache-control', 'no-store');
  });
  router.all('/oauth/token', async (c, next) => ((await front.isMcpDomain(c)) ? next() : answerToken(app, c)));
  router.all('/oauth/register', (c) =>
    c.req.method === 'POST' ? answerRegistration(app, c) : refuseToken(405, 'invalid_request', 'Use POST.', { allow: 'POST' }),
  );
  router.all('/oauth/revoke', (c) => answerRevocation(app, c));
  router.get('/oauth/jwks', async (c) => {
    // Caches store the answer: an empty key set read before the first sign-in would reject the tokens of the next minutes.
    await prepareKeys(app);
    return c.json({ keys: await publicKeys(app) }, 200, {
      'content-type': 'application/jwk-set+json',
      'cache-control': 'public, max-age=300',
    });
  });
}

async function answerAuthorize(app: ControlPlane, c: Edge): Promise<Response> {
  c.header('cache-control', 'no-store');
  const browser = readBrowser(app, c) ?? randomToken('');
  const answer = await authorize(app, new URL(c.req.url).searchParams, browser, callerAddress(app, c));
  if (answer.kind === 'page') {
    const page = refusalPage(answer.reason, answer.status);
    page.headers.set('cache-control', 'no-store');
    return page;
  }
  if (answer.kind === 'redirect') return c.redirect(answer.to, 302);
  writeBrowser(app, c, browser);
  return c.redirect(`${CONSENT_PATH}?request=${answer.request}`, 303);
}

async function answerToken(app: ControlPlane, c: Edge): Promise<Response> {
  const form = await readTokenForm(c.req.raw);
  if (form instanceof Response) return form;
  const logins = loginsOf(c.req.header('authorization') ?? null, form);
  if (logins instanceof Response) return logins;
  const context = contextOf(app, c);
  const { count, retry_after } = await countMinute(app, `oauth:token:${networkOf(context.ip ?? '')}`);
  if (count > TOKENS_A_MINUTE) {
    const detail = `Too many tokens were requested. Wait ${retry_after} seconds.`;
    return refuseToken(429, 'temporarily_unavailable', detail, { 'retry-after': String(retry_after) });
  }
  return toResponse(await answerTokenRequest(context, form, logins).catch(toTokenFault));
}

/** Clients expect JSON from a token endpoint, whatever the fault is. */
function toTokenFault(error: unknown): Response {
  const { status, detail } = asFault(error);
  return refuseToken(status, status >= 500 ? 'temporarily_unavailable' : 'invalid_request', detail);
}

function toResponse(answer: TokenAnswer | Response): Response {
  if (answer instanceof Response) return answer;
  const challenge = answer.status === 401 ? BASIC_CHALLENGE : {};
  return Response.json(answer.body, { status: answer.status, headers: { ...NO_STORE, ...challenge } });
}

async function answerRevocation(app: ControlPlane, c: Edge): Promise<Response> {
  const form = await readTokenForm(c.req.raw);
  if (form instanceof Response) return form;
  const logins = loginsOf(c.req.header('authorization') ?? null, form);
  if (logins instanceof Response) return logins;
  const refused = await revokeToken(contextOf(app, c), form, logins);
  return refused === null ? new Response(null, { status: 200, headers: NO_STORE }) : toResponse(refused);
}

async function answerRegistration(app: ControlPlane, c: Edge): Promise<Response> {
  const text = await readText(c.req.raw, REGISTRATION).then(withoutRepeats).catch(asFault);
  const { status, body, retry_after } =
    text instanceof AppError ? unreadable(text) : await register(app, parsedOrNull(text), callerAddress(app, c));
  const headers: Record<string, string> = { ...NO_STORE };
  if (retry_after !== undefined) headers['retry-after'] = String(retry_after);
  return Response.json(body, { status, headers });
}

const unreadable = ({ status, detail }: AppError) => ({
  status,
  body: { error: 'invalid_client_metadata', error_description: detail },
  retry_after: undefined,
});

function withoutRepeats(text: string): string {
  const repeated = parsedOrNull(text) === null ? null : repeatedKey(text);
  if (repeated !== null) throw new AppError('bad_request', repeatedKeySentence(repeated));
  return text;
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

const contextOf = (app: ControlPlane, c: Edge): CallContext<ControlPlane> => ({
  app,
  actor: null,
  ip: callerAddress(app, c),
  user_agent: c.req.header('user-agent') ?? null,
  request_id: c.get('request_id'),
});
