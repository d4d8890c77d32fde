import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { httpsOrigin } from '#core/process/env.ts';
import { AppError } from '#core/errors.ts';
import { hostName } from '#core/edge/origins.ts';
import { DEFINITION_KEYS_PATH, DEFINITIONS_PATH, FILE_PATH } from '#core/edge/mcp-endpoint.ts';
import { REGISTER_PATH } from '#core/edge/registration.ts';
import { challengeKey } from '#core/server-config/certificates.ts';
import { readSettings } from '#core/settings/settings.ts';
import { activeSnapshot, readDeployment } from '#core/versions/deployment.ts';
import { getSealed } from '#core/platform/sealed-kv.ts';
import { signal } from '#core/platform/signals.ts';
import { isAgent } from '#server/request/bearer.ts';
import type { ServerEnv, HttpsState } from '#server/request/server-env.ts';
import { hostOf, spokenScheme } from '#server/request/session.ts';

/** Settings that decide which part of the front port answers. */
export interface FrontSettings {
  readonly ui_domain: string | null;
  readonly mcp_domain: string | null;
  readonly mcp_proxy: boolean;
  /** Port of the deployed MCP server. */
  readonly mcp_port: number;
}

export interface Front {
  settings(): Promise<FrontSettings>;
  /** Whether a request was sent to the domain that serves only MCP. */
  isMcpDomain(c: Context<ServerEnv>): Promise<boolean>;
}

/** Changes by other servers take effect after this time. */
const FRESH_MS = 1_000;
const CHALLENGES = '/.well-known/acme-challenge/';
const YEAR_SECONDS = 31_536_000;
/** The paths of MCP: all that the MCP domain answers, and those that `mcp_proxy` forwards. The host routes paths below `/mcp`. */
const APPS_CHALLENGE = '/.well-known/openai-apps-challenge';
export const MCP_PATHS: readonly string[] = [
  '/mcp',
  '/mcp/*',
  '/sse',
  '/messages',
  `${FILE_PATH}*`,
  DEFINITIONS_PATH,
  `${DEFINITIONS_PATH}/*`,
  APPS_CHALLENGE,
];
const ABOUT_MCP = /^\/\.well-known\/oauth-(?:protected-resource|authorization-server)(?:\/mcp(?:\/.*)?|\/sse)?$/;
const ANYWHERE = new Set(['/api/health', '/livez', '/readyz']);

/**
 * Caches the settings of the front port, so that forwarded calls wait for no database. Changes by this server take effect at
 * once, changes by another one a second later.
 */
export function createFront(app: ControlPlane, router: Hono<ServerEnv>): Front {
  let known: FrontSettings | null = null;
  let read_at = 0;
  /** Number of changes by this server, and how many of them `known` includes. */
  let changes = 0;
  let known_changes = 0;
  let reading: Promise<FrontSettings> | null = null;
  let port: { readonly version: number; readonly port: number } | null = null;

  const mcpPort = async (otherwise: number): Promise<number> => {
    const { active_version } = await readDeployment(app);
    if (active_version === null) return otherwise;
    if (port?.version !== active_version) {
      const active = await activeSnapshot(app);
      port = { version: active_version, port: active === null ? otherwise : active.server.port };
    }
    return port.port;
  };
  const read = async (): Promise<FrontSettings> => {
    const included = changes;
    const { settings } = await readSettings(app);
    const { ui_domain, mcp_domain, mcp_proxy } = settings;
    known = { ui_domain, mcp_domain, mcp_proxy, mcp_port: mcp_proxy ? await mcpPort(settings.port) : settings.port };
    known_changes = included;
    read_at = performance.now();
    return known;
  };
  const refresh = (): Promise<FrontSettings> => (reading ??= read().finally(() => (reading = null)));
  const readChanged = async (): Promise<FrontSettings> => {
    const needed = changes;
    const found = await refresh();
    // The reading may have begun before the change.
    return known_changes < needed ? readChanged() : found;
  };

  router.use('/api/v1/*', async (c, next) => {
    await next();
    if (c.req.method === 'GET' || c.req.method === 'HEAD' || c.res.status >= 400) return;
    changes++;
    // The domains may have changed: a rollback and an import have other paths than the configuration.
    app.background(signal(app, 'names').catch(() => undefined));
    // Wakes the keeper of the certificate.
    if (c.req.path === '/api/v1/server/config') await signal(app, 'certificate');
  });
  const settings = async (): Promise<FrontSettings> => {
    if (known === null || known_changes < changes) {
      const last = known;
      return readChanged().catch((error: unknown) => {
        if (last === null) throw error;
        return last;
      });
    }
    if (performance.now() - read_at > FRESH_MS) void refresh().catch(() => undefined);
    return known;
  };
  return {
    settings,
    async isMcpDomain(c) {
      const { ui_domain, mcp_domain } = await settings();
      const name = hostName(hostOf(app, c));
      return name === mcp_domain && name !== ui_domain;
    },
  };
}

/** Redirects browsers to HTTPS, sets HSTS, and limits the MCP domain to MCP. */
export function frontRules(app: ControlPlane, front: Front, https: HttpsState): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const name = hostName(hostOf(app, c)) ?? '';
    // Sluice's programs may use any name, and follow no redirect.
    if (isAgent(app, c)) return next();
    const moved = toHttps(app, c, https);
    if (moved !== null) return moved;
    const serving = isServing(https, name);
    const { ui_domain, mcp_domain } = await front.settings();
    if (name === mcp_domain && name !== ui_domain && !isForMcp(c.req.path)) {
      throw new AppError('not_found', 'This is the domain of the MCP server, which is at /mcp. The UI has its own domain.');
    }
    await next();
    // A certificate that browsers do not trust must not lock them out.
    if (serving && c.env?.secure === true && !app.env.SVC_SSL_STAGING) {
      c.res.headers.set('strict-transport-security', `max-age=${YEAR_SECONDS}`);
    }
    return undefined;
  };
}

/** Paths that plain HTTP still answers: challenges, probes, and the control channel, which authenticates its requests. */
const stays = (path: string): boolean => path.startsWith(CHALLENGES) || path.startsWith('/api/internal/') || ANYWHERE.has(path);

const isForMcp = (path: string): boolean =>
  MCP_PATHS.includes(path) ||
  path.startsWith('/mcp/') ||
  path.startsWith(FILE_PATH) ||
  path.startsWith(`${DEFINITIONS_PATH}/`) ||
  path === DEFINITION_KEYS_PATH ||
  path === '/oauth/token' ||
  path === REGISTER_PATH ||
  ABOUT_MCP.test(path) ||
  path.startsWith(CHALLENGES) ||
  ANYWHERE.has(path);

const isServing = (https: HttpsState, name: string): boolean => https.serving()?.domains.includes(name) === true;

/**
 * The redirect of a plain HTTP request to a name with a certificate; null: none. 308 preserves method and body (RFC 9110, section
 * 15.4.9).
 */
export function toHttps(app: ControlPlane, c: Context<ServerEnv>, https: HttpsState): Response | null {
  const name = hostName(hostOf(app, c)) ?? '';
  if (!isServing(https, name) || spokenScheme(app, c) === 'https' || stays(c.req.path)) return null;
  const { pathname, search } = new URL(c.req.url);
  const target = new URL(httpsOrigin(app.env, name));
  // The target of a CONNECT is not a path, and would be appended to the name.
  target.pathname = pathname;
  target.search = search;
  return c.redirect(target.href, 308);
}

/** Answers the challenges of the certificate authority (RFC 8555, section 8.3). */
export function addChallenges(app: ControlPlane, router: Hono<ServerEnv>): void {
  router.get(`${CHALLENGES}:token`, async (c) => {
    const token = c.req.param('token');
    const answer = /^[\w-]{1,128}$/.test(token) ? await getSealed(app, challengeKey(token)) : null;
    if (answer === null) return c.notFound();
    app.log.from('tls').info('a challenge was answered', { domain: hostName(hostOf(app, c)) });
    return c.body(answer, 200, { 'content-type': 'application/octet-stream', 'cache-control': 'no-store' });
  });
}
