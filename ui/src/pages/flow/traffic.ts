import type { Output } from '#core/contract/index.ts';

export type Traffic = Output<'flow.traffic'>;
type Span = Traffic['spans'][number];
export type Definition = Pick<Traffic['definitions'][number], 'kind' | 'name'> & { readonly connection_id: string | null };

/** What happened in a window of time, on anything that is drawn. */
export interface Numbers {
  readonly calls: number;
  readonly errors: number;
  /** Of several together: that of the slowest. */
  readonly p95_ms: number;
  readonly longest_ms: number;
}
export const NONE: Numbers = { calls: 0, errors: 0, p95_ms: 0, longest_ms: 0 };

export interface Pair extends Numbers {
  /** Empty: it gave no name. */
  readonly client: string;
  readonly definition: string;
}

export interface Moment {
  /** ISO 8601. */
  readonly timestamp: string;
  readonly seconds: number;
  readonly pairs: readonly Pair[];
  readonly calls: number;
  readonly errors: number;
  readonly p95_ms: number;
  /** Percentiles over all pairs of one. */
  readonly p95: ReadonlyMap<string, number>;
}

export const clientKey = (name: string): string => `client:${name}`;
export const connectionKey = (id: string | null): string => `connection:${id ?? ''}`;
export const definitionKey = ({ kind, name, connection_id }: Definition): string => `${kind}:${connection_id ?? ''}:${name}`;

/** What is known of an hour, put together from answers of which each tells the latest part. */
export interface Hour {
  readonly moments: ReadonlyMap<string, Moment>;
  readonly definitions: ReadonlyMap<string, Definition>;
  readonly now: Moment | undefined;
  readonly until: string;
  readonly last_called_at: string | null;
  readonly shows_clients: boolean;
}

export function addAnswer(before: Hour | undefined, answer: Traffic, length_ms = 3_600_000): Hour {
  const named = answer.definitions.map(({ kind, name, connection }) => ({
    kind,
    name,
    connection_id: answer.connections[connection] ?? null,
  }));
  const keys = named.map(definitionKey);
  const oldest = new Date(Date.parse(answer.until) - length_ms).toISOString();
  const moments = new Map([...(before?.moments ?? [])].filter(([at]) => at >= oldest && at < answer.since));
  for (const span of answer.spans) moments.set(span.timestamp, toMoment(answer, keys, span));
  return {
    moments,
    definitions: new Map([...(before?.definitions ?? []), ...named.map((one, n) => [keys[n] ?? '', one] as const)]),
    now: answer.now === null ? undefined : toMoment(answer, keys, answer.now),
    until: answer.until,
    last_called_at: answer.last_called_at,
    shows_clients: answer.clients !== null,
  };
}

function toMoment({ clients, connections }: Traffic, keys: readonly string[], span: Span): Moment {
  const failed = new Map<string, number>();
  for (let n = 0; n < span.failures.length; n += 4) {
    const key = `${span.failures[n]} ${span.failures[n + 1]}`;
    failed.set(key, (failed.get(key) ?? 0) + (span.failures[n + 3] ?? 0));
  }
  const pairs: Pair[] = [];
  let [calls, errors] = [0, 0];
  for (let n = 0; n < span.pairs.length; n += 6) {
    const [client = 0, definition = 0, count = 0, p95_ms = 0, , longest_ms = 0] = span.pairs.slice(n, n + 6);
    const wrong = failed.get(`${client} ${definition}`) ?? 0;
    calls += count;
    errors += wrong;
    const whose = { client: clients?.[client] ?? '', definition: keys[definition] ?? '' };
    pairs.push({ ...whose, calls: count, errors: wrong, p95_ms, longest_ms });
  }
  const p95 = new Map<string, number>();
  const note = (list: readonly number[], keyOf: (index: number) => string) => {
    for (let n = 0; n < list.length; n += 2) p95.set(keyOf(list[n] ?? 0), list[n + 1] ?? 0);
  };
  note(span.clients, (index) => clientKey(clients?.[index] ?? ''));
  note(span.definitions, (index) => keys[index] ?? '');
  note(span.connections, (index) => connectionKey(connections[index] ?? ''));
  return { timestamp: span.timestamp, seconds: span.seconds, pairs, calls, errors, p95_ms: span.p95_ms, p95 };
}

/** All pairs of the hour with the calls of all of it: what is drawn stays where it is while one looks back. */
export function pairsOf(hour: Hour): Pair[] {
  const all = new Map<string, Pair>();
  for (const moment of hour.moments.values()) {
    for (const pair of moment.pairs) {
      const key = `${pair.client}\n${pair.definition}`;
      const known = all.get(key);
      all.set(key, known === undefined ? pair : { ...pair, ...sumOf(known, pair) });
    }
  }
  return [...all.values()];
}

export const sumOf = (a: Numbers, b: Numbers): Numbers => ({
  calls: a.calls + b.calls,
  errors: a.errors + b.errors,
  p95_ms: Math.max(a.p95_ms, b.p95_ms),
  longest_ms: Math.max(a.longest_ms, b.longest_ms),
});

/** What an address asks for: empty for now, `hour`, or the beginning of a minute of the last hour; what is older or no time is now. */
export function shownAt(given: string, until: string): string {
  if (given === 'hour') return given;
  const last = Math.floor(Date.parse(until) / 60_000);
  const minute = Math.floor(Date.parse(given) / 60_000);
  return minute > last - 60 && minute <= last ? new Date(minute * 60_000).toISOString() : '';
}

/** The 60 minutes of the hour, those without calls too; the last one runs. */
export function minutesOf(hour: Hour): { readonly timestamp: string; readonly calls: number; readonly errors: number }[] {
  const last = Math.floor(Date.parse(hour.until) / 60_000) * 60_000;
  return Array.from({ length: 60 }, (_, n) => {
    const timestamp = new Date(last - (59 - n) * 60_000).toISOString();
    const { calls = 0, errors = 0 } = hour.moments.get(timestamp) ?? {};
    return { timestamp, calls, errors };
  });
}
