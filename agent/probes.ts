import { createProbes, type ProbeSecrets, type Readiness } from '#core/edge/probes.ts';
import { createRequestDurations, metric } from '#core/lib/metrics/metrics-text.ts';
import { createProcessMetrics } from '#core/lib/metrics/process-metrics.ts';
import { buildInfo } from '#core/process/build-info.ts';
import type { Tally } from './tools/tools.ts';

/** `/livez`, `/readyz` and `/metrics` of the agent endpoint. */
export interface AgentProbes {
  /** Null: the path is not a probe. */
  answer(request: Request): Response | Promise<Response> | null;
  add(method: string, status: number, ms: number): void;
}

export interface AgentProbeOptions extends ProbeSecrets {
  readonly server_url: string;
  readonly tally: Tally;
  readonly ending: () => boolean;
}

/** A readiness check is reused for this time. */
const FRESH_MS = 1_000;
const SERVER_MS = 2_000;

export function createAgentProbes(options: AgentProbeOptions): AgentProbes {
  const requests = createRequestDurations('Requests to the agent endpoint.');
  const processMetrics = createProcessMetrics();
  let looked_at = Number.NEGATIVE_INFINITY;
  let looking: Promise<boolean> = Promise.resolve(true);
  /** Without the server no caller can be authorised. */
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
      const undeclared = metric(
        'counter',
        'sluice_undeclared_arguments_total',
        'Arguments that callers sent and tools do not declare, ignored or refused; without those that clients are known to add.',
        [[{}, options.tally.undeclared]],
      );
      return requests.text() + undeclared + buildInfo('agent') + (await processMetrics());
    },
  });
  return {
    answer: (request) => probes(new URL(request.url).pathname, request),
    add: requests.add,
  };
}
