import {
  answerFigures,
  answerLive,
  answerReady,
  FIGURES_REFUSED,
  mayReadFigures,
  type ProbeSecrets,
  type Readiness,
} from '#core/edge/probes.ts';

/** What a host can work without, and what not. */
export function readinessOf(state: {
  /** Why nothing is served. */
  readonly idle: string | null;
  /** Why the copy on disk was not taken. */
  readonly fault: string | null;
  readonly connected: boolean;
  readonly shares: { up(): boolean } | null;
}): Readiness {
  const { idle, fault, connected, shares } = state;
  return {
    blocking: idle === null ? [] : [idle],
    degraded: [
      ...(fault === null ? [] : [`The snapshot on disk could not be read: ${fault}`]),
      ...(connected ? [] : ['Not connected to the server: deploys, token revocations and metrics are delayed.']),
      ...(shares === null || shares.up() ? [] : ['Redis cannot be reached. This host applies its limits on its own.']),
    ],
  };
}

/** Answers `/livez`, `/readyz` and `/metrics`; null: the path is another. They need no snapshot and no credential of a caller. */
export type Probes = (path: string, request: Request) => Response | Promise<Response> | null;

export interface ProbeOptions extends ProbeSecrets {
  readonly readiness: () => Readiness;
  readonly metrics: () => Promise<string>;
}

export function createProbes(options: ProbeOptions): Probes {
  const answers: Readonly<Record<string, (request: Request) => Response | Promise<Response>>> = {
    '/livez': answerLive,
    '/readyz': (request) => answerReady(options.readiness(), mayReadFigures(request, options)),
    '/metrics': (request) =>
      mayReadFigures(request, options)
        ? options.metrics().then(answerFigures)
        : Response.json({ detail: FIGURES_REFUSED }, { status: 401, headers: { 'www-authenticate': 'Bearer' } }),
  };
  return (path, request) => {
    const answer = Object.hasOwn(answers, path) ? answers[path] : undefined;
    if (answer === undefined) return null;
    if (request.method === 'GET' || request.method === 'HEAD') return answer(request);
    return Response.json({ detail: 'Use GET.' }, { status: 405, headers: { allow: 'GET' } });
  };
}
