import { METRICS_TYPE } from '#core/lib/metrics/metrics-text.ts';
import { isOurs, isSameSecret } from './service-token.ts';

/** Why a program is not ready, and which features are unavailable. Sentences for the operator. */
export interface Readiness {
  /** Any of these makes the program not ready. */
  readonly blocking: readonly string[];
  readonly degraded: readonly string[];
}

export interface ProbeSecrets {
  readonly service_token: string;
  readonly metrics_token: string | null;
}

/** Whether a request can read metrics and reasons: it needs the metrics token or this installation's service token. */
export function mayReadMetrics({ headers }: Request, { service_token, metrics_token }: ProbeSecrets): boolean {
  const bearer = /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (isOurs(headers, service_token)) return true;
  return bearer !== undefined && metrics_token !== null && isSameSecret(bearer, metrics_token);
}

const NO_STORE = { 'cache-control': 'no-store' };

/** Checks only that the process answers. */
export const answerLive = (): Response => Response.json({ status: 'live' }, { headers: NO_STORE });

/** Answers 503 if not ready. Only callers with access to metrics see the reasons. */
export function answerReady({ blocking, degraded }: Readiness, with_reasons: boolean): Response {
  const ready = blocking.length === 0;
  const status = ready ? (with_reasons && degraded.length > 0 ? 'degraded' : 'ready') : 'not_ready';
  return Response.json(with_reasons ? { status, reasons: [...blocking, ...degraded] } : { status }, {
    status: ready ? 200 : 503,
    headers: ready ? NO_STORE : { ...NO_STORE, 'retry-after': '5' },
  });
}

export const answerMetrics = (text: string): Response =>
  new Response(text, { headers: { ...NO_STORE, 'content-type': METRICS_TYPE } });

/** Answers `/livez`, `/readyz` and `/metrics`, without a snapshot or a caller's credential. Returns null for other paths. */
export type Probes = (path: string, request: Request) => Response | Promise<Response> | null;

export interface ProbeOptions extends ProbeSecrets {
  readonly readiness: () => Readiness | Promise<Readiness>;
  readonly metrics: () => Promise<string>;
}

export function createProbes(options: ProbeOptions): Probes {
  const answers: Readonly<Record<string, (request: Request) => Response | Promise<Response>>> = {
    '/livez': answerLive,
    '/readyz': async (request) => answerReady(await options.readiness(), mayReadMetrics(request, options)),
    '/metrics': (request) =>
      mayReadMetrics(request, options)
        ? options.metrics().then(answerMetrics)
        : Response.json({ detail: METRICS_REFUSED }, { status: 401, headers: { 'www-authenticate': 'Bearer' } }),
  };
  return (path, request) => {
    const answer = Object.hasOwn(answers, path) ? answers[path] : undefined;
    if (answer === undefined) return null;
    if (request.method === 'GET' || request.method === 'HEAD') return answer(request);
    return Response.json({ detail: 'Use GET.' }, { status: 405, headers: { allow: 'GET' } });
  };
}

export const METRICS_REFUSED =
  'Metrics need Authorization: Bearer with the value of SVC_METRICS_TOKEN, or the service token as X-Service-Token.';
