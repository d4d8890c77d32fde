import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { Hono } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import { AppError } from '#core/errors.ts';
import { addAgentRoutes } from './agent.ts';
import { entrance, refuseNulInAddress } from './entrance.ts';
import { addAuditExport } from './audit-export.ts';
import { answerFault } from '#server/request/faults.ts';
import { addChallenges, createFront, frontRules } from './front.ts';
import { addHostRoutes } from '../hosts/control-channel.ts';
import { addChanges } from '../hosts/changes.ts';
import { createLiveLogs } from '../hosts/live-logs.ts';
import { addOauth } from './oauth/routes.ts';
import { opensWindows } from '#server/request/open-paths.ts';
import { addOidc } from './oidc.ts';
import { openApi } from './openapi.ts';
import { addPlayground } from '../hosts/playground.ts';
import { addProbes } from './probes.ts';
import { addAgentProxy, addMcpProxy } from './proxy.ts';
import { addRoutes, methodsAt } from './routes.ts';
import { type ServerEnv, type HttpsState, NO_HTTPS } from '#server/request/server-env.ts';
import { addStatic } from './static.ts';

const UI_POLICY = {
  defaultSrc: ["'self'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'", 'data:'],
  connectSrc: ["'self'"],
  objectSrc: ["'none'"],
  baseUri: ["'none'"],
  formAction: ["'self'"],
  frameAncestors: ["'none'"],
};

/** Everything that the front port answers, as one web-standard handler. */
export function createHttp(app: ControlPlane, https: HttpsState = NO_HTTPS): Hono<ServerEnv> {
  const router = new Hono<ServerEnv>();
  router.onError((error, c) => answerFault(app, c, error));
  router.notFound((c) => {
    const allowed = methodsAt(c.req.path).join(', ');
    if (allowed === '') return answerFault(app, c, new AppError('not_found', 'There is nothing at this address.'));
    const answer = answerFault(app, c, new AppError('method_not_allowed', `This address answers only ${allowed}.`));
    answer.headers.set('allow', allowed);
    return answer;
  });
  router.use(async (c, next) => {
    const given = c.req.header('x-request-id');
    const request_id = given !== undefined && /^[\w.-]{1,128}$/.test(given) ? given : app.ids();
    c.set('request_id', request_id);
    c.header('x-request-id', request_id);
    await app.log.during({ request_id }, next);
    c.res.headers.set('x-request-id', request_id);
    // Other users of the same machine must not find these answers in a cache.
    if (c.req.path.startsWith('/api/v1/') && !c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store');
    // GET routes also answer HEAD, and no client reads the stream that they opened.
    if (c.req.method === 'HEAD' && isStream(c.res)) await c.res.body?.cancel();
  });
  router.use(secureDefaults());
  addProbes(app, router, https);
  router.use(entrance(app));
  const front = createFront(app, router);
  router.use(frontRules(app, front, https));
  addChallenges(app, router);
  addAuditExport(app, router);
  addRoutes(app, router);
  router.use(refuseNulInAddress);
  addOidc(app, router);
  const live_logs = createLiveLogs(app);
  live_logs.addRoutes(router);
  addChanges(app, router);
  addPlayground(app, router);
  addHostRoutes(app, router, live_logs);
  addAgentRoutes(app, router, live_logs);
  addOauth(app, router, front);
  addAgentProxy(app, router);
  addMcpProxy(app, router, front);
  let document: string | undefined;
  router.get('/api/openapi.json', (c) =>
    c.body((document ??= JSON.stringify(openApi())), 200, { 'content-type': 'application/json' }),
  );
  addStatic(router);
  return router;
}

export const isStream = ({ headers }: Response): boolean => (headers.get('content-type') ?? '').startsWith('text/event-stream');

/** A policy that the page sets overrides the default. */
function secureDefaults() {
  const apply = secureHeaders({
    contentSecurityPolicy: UI_POLICY,
    referrerPolicy: 'no-referrer',
    strictTransportSecurity: false,
    xFrameOptions: 'DENY',
    crossOriginOpenerPolicy: 'same-origin',
  });
  return async (...[c, next]: Parameters<typeof apply>): Promise<void> => {
    let page_policy: string | null = null;
    await apply(c, async () => {
      await next();
      page_policy = c.res.headers.get('content-security-policy');
    });
    if (page_policy !== null) c.res.headers.set('content-security-policy', page_policy);
    if (opensWindows(c.req.path)) c.res.headers.delete('cross-origin-opener-policy');
  };
}
