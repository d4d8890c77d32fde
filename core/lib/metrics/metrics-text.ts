/** Metrics in the text format of Prometheus. */
export type Labels = Readonly<Record<string, string | number>>;
export type Sample = readonly [labels: Labels, value: number];

/** Counts by upper bound in seconds, cumulative as in a Prometheus histogram. */
export interface Buckets {
  readonly counts: Float64Array;
  sum: number;
}

/** Upper bounds in seconds, as the OpenTelemetry conventions advise for MCP and database operations, and more between 10 and 50 ms. */
const BOUNDS: readonly number[] = [0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300];

export const createBuckets = (): Buckets => ({ counts: new Float64Array(BOUNDS.length + 1), sum: 0 });

/** Buckets by label value, created on first use. */
export function bucketsOf(by_label: Map<string, Buckets>, label: string): Buckets {
  let buckets = by_label.get(label);
  if (buckets === undefined) by_label.set(label, (buckets = createBuckets()));
  return buckets;
}

export function observe(buckets: Buckets, seconds: number): void {
  let index = 0;
  while (index < BOUNDS.length && seconds > (BOUNDS[index] ?? 0)) index++;
  buckets.counts[index] = (buckets.counts[index] ?? 0) + 1;
  buckets.sum += seconds;
}

export function addBuckets(to: Buckets, from: Buckets): void {
  for (const [index, count] of from.counts.entries()) to.counts[index] = (to.counts[index] ?? 0) + count;
  to.sum += from.sum;
}

/** Writes one metric: its samples, or its value when it has no labels. Without a value it writes nothing. */
export function metric(type: 'counter' | 'gauge', name: string, help: string, value: number | null | Iterable<Sample>): string {
  const samples: Iterable<Sample> = typeof value === 'number' ? [[{}, value]] : (value ?? []);
  const lines = [...samples].map(([labels, value]) => `${name}${labelText(labels)} ${value}\n`);
  return lines.length === 0 ? '' : heading(type, name, help) + lines.join('');
}

export function histogram(name: string, help: string, samples: Iterable<readonly [Labels, Buckets]>): string {
  let text = '';
  for (const [labels, { counts, sum }] of samples) {
    let total = 0;
    for (const [index, count] of counts.entries()) {
      total += count;
      text += `${name}_bucket${labelText({ ...labels, le: BOUNDS[index] ?? '+Inf' })} ${total}\n`;
    }
    text += `${name}_sum${labelText(labels)} ${sum}\n${name}_count${labelText(labels)} ${total}\n`;
  }
  return text === '' ? '' : heading('histogram', name, help) + text;
}

/** How long the requests of one listener take, by method and status. */
export interface RequestDurations {
  readonly add: (method: string, status: number, ms: number) => void;
  /** Requests that were answered with a status. */
  count(status: number): number;
  text(): string;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

export function createRequestDurations(help: string): RequestDurations {
  const requests = new Map<string, { readonly method: string; readonly status: number; readonly buckets: Buckets }>();
  return {
    add(given, status, ms) {
      // Any client can send any method, and each would become a permanent label.
      const method = METHODS.has(given) ? given : '_other';
      const key = `${method} ${status}`;
      let request = requests.get(key);
      if (request === undefined) requests.set(key, (request = { method, status, buckets: createBuckets() }));
      observe(request.buckets, ms / 1_000);
    },
    count: (status) =>
      [...requests.values()]
        .filter((request) => request.status === status)
        .reduce((sum, { buckets }) => sum + buckets.counts.reduce((a, b) => a + b, 0), 0),
    text: () =>
      histogram(
        'http_server_request_duration_seconds',
        help,
        [...requests.values()].map(({ method, status, buckets }) => [
          { http_request_method: method, http_response_status_code: status },
          buckets,
        ]),
      ),
  };
}

const heading = (type: string, name: string, help: string): string => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escape(String(value))}"`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

const escape = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

/** Content type of the text format. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
