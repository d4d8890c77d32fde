import { createProbes, type ProbeSecrets, type Readiness } from '#core/edge/probes.ts';
import type { Tally } from '#core/lib/call/arguments.ts';
import { type Buckets, createBuckets, createProcessFigures, figure, histogram, observe } from '#core/lib/metrics-text.ts';

/** `/livez`, `/readyz` and `/metrics` of the agent endpoint. */
export interface AgentProbes {
  /** Null: the path is another. */
  answer(request: Request): Response | Promise<Response> | null;
  add(method: string, status: number, ms: number): void;
}

export interface AgentProbeOptions extends ProbeSecrets {
  readonly server_url: string;
  readonly tally: Tally;
  readonly ending: () => boolean;
}

/** One look serves every probe of a moment. */
const FRESH_MS = 1_000;
const SERVER_MS = 2_000;

export function createAgentProbes(options: AgentProbeOptions): AgentProbes {
  const requests = new Map<string, { method: string; status: number; buckets: Buckets }>();
  const processFigures = createProcessFigures();
  let looked_at = Number.NEGATIVE_INFINITY;
  let looking: Promise<boolean> = Promise.resolve(true);
  /** Without the server nobody can be let in. */
  const readiness = async (): Promise<Readiness> => {
    if (options.ending()) return { blocking: ['The agent endpoint is shutting down.'], degraded: [] };
    if (performance.now() - looked_at > FRESH_MS) {
      looked_at = performance.now();
      looking = fetch(`${options.server_url}/livez`, { signal: AbortSignal.timeout(SERVER_MS) }).then(
        ({ ok }) => ok,
        () => false,
      );
    }
    return (await looking)
      ? { blocking: [], degraded: [] }
      : { blocking: ['The server does not answer at SVC_SERVER_URL.'], degraded: [] };
  };
  const probes = createProbes({
    ...options,
    readiness,
    async metrics() {
      const durations = histogram(
        'http_server_request_duration_seconds',
        'Requests to the agent endpoint.',
        [...requests.values()].map(({ method, status, buckets }) => [
          { http_request_method: method, http_response_status_code: status },
          buckets,
        ]),
      );
      const undeclared = figure(
        'counter',
        'sluice_undeclared_arguments_total',
        'Undeclared arguments that callers sent; they are ignored.',
        [[{}, options.tally.undeclared]],
      );
      return durations + undeclared + (await processFigures());
    },
  });
  return {
    answer: (request) => probes(new URL(request.url).pathname, request),
    add(given, status, ms) {
      const method = given === 'POST' || given === 'GET' || given === 'DELETE' ? given : '_other';
      const key = `${method} ${status}`;
      let request = requests.get(key);
      if (request === undefined) requests.set(key, (request = { method, status, buckets: createBuckets() }));
      observe(request.buckets, ms / 1_000);
    },
  };
}
