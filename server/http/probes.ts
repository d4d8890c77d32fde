import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Context, Hono } from 'hono';
import { AppError } from '#core/errors.ts';
import { answerMetrics, answerLive, answerReady, METRICS_REFUSED, mayReadMetrics } from '#core/edge/probes.ts';
import type { HttpsState, ServerEnv } from '#server/request/server-env.ts';
import { toHttps } from './front.ts';
import { createReadiness } from './health.ts';
import { createServerMetrics } from './metrics.ts';
import { holds } from '#core/contract/roles.ts';
import { roleOf } from '#core/context/roles.ts';
import { sessionActor } from '#server/request/session.ts';

/**
 * `/livez`, `/readyz` and `/metrics`, under any host name, since monitoring mostly uses addresses. Routes that are added later
 * are counted in the metrics.
 */
export function addProbes(app: ControlPlane, router: Hono<ServerEnv>, https: HttpsState): void {
  const metrics = createServerMetrics(app);
  const readiness = createReadiness(app);
  const { SVC_AGENT_SERVICE_TOKEN: service_token, SVC_METRICS_TOKEN: metrics_token } = app.env;
  const mayRead = async (c: Context<ServerEnv>): Promise<boolean> => {
    if (mayReadMetrics(c.req.raw, { service_token, metrics_token })) return true;
    const actor = await sessionActor(app, c).catch(() => null);
    return actor !== null && holds(roleOf(actor) ?? 'caller', 'viewer');
  };

  router.get('/livez', () => answerLive());
  router.get('/readyz', async (c) => {
    const now = await readiness();
    // Without the database, only requests with a token can be authorised.
    return answerReady(now, await mayRead(c));
  });
  router.get('/metrics', async (c, next) => {
    // The UI has a page at this path; scrapers never request HTML.
    if (c.req.header('accept')?.includes('text/html')) return next();
    // A token has to be sent over HTTPS. Requests by IP address, as from machines nearby, are not redirected.
    const moved = toHttps(app, c, https);
    if (moved !== null) return moved;
    if (!(await mayRead(c))) throw new AppError('unauthenticated', METRICS_REFUSED);
    return answerMetrics(await metrics.text());
  });
  router.use(async (c, next) => {
    const started = performance.now();
    app.life.answering++;
    try {
      await next();
    } finally {
      app.life.answering--;
      metrics.add(c.req.method, c.req.path, c.res.status, performance.now() - started);
    }
  });
}
