import type { UsageKind } from '#core/contract/observe/calls.ts';
import type { CallGroup } from '#core/contract/observe/usage-batch.ts';
import { type Histogram, mergeInto, quantile } from '#core/lib/histogram.ts';

/** Further clients are counted as one, because a client chooses its name and may change it in every call. */
const MOST_CLIENTS = 100;
const OTHER_CLIENTS = '*';

export interface Definition {
  readonly kind: UsageKind;
  readonly name: string;
  readonly connection_id: string | null;
  entity_id: string | null;
}

/** Calls of one definition by one client. */
export interface Pair {
  readonly client: number;
  readonly definition: number;
  calls: number;
  waited_ms: number;
  longest_ms: number;
  /** By the index of the outcome, sparse. */
  readonly failed: Record<number, number>;
  /** Coarse, because there are many pairs and two digits are enough. */
  readonly histogram: Histogram;
}

/** The calls of each client to each definition within a span. */
export interface Matrix {
  readonly clients: Map<string, number>;
  readonly definitions: Map<string, number>;
  readonly listed: Definition[];
  readonly pairs: Map<string, Pair>;
}

export const createMatrix = (): Matrix => ({ clients: new Map(), definitions: new Map(), listed: [], pairs: new Map() });

type Called = Pick<CallGroup, 'kind' | 'name' | 'connection_id' | 'entity_id'>;

export const definitionKey = ({ kind, name, connection_id }: Omit<Called, 'entity_id'>): string =>
  `${kind} ${connection_id ?? ''} ${name}`;

export function pairOf(matrix: Matrix, client_name: string, called: Called): Pair {
  const { clients, definitions, listed, pairs } = matrix;
  const name = clients.has(client_name) || clients.size < MOST_CLIENTS ? client_name : OTHER_CLIENTS;
  const client = indexIn(clients, name);
  const definition = indexIn(definitions, definitionKey(called));
  const { kind, connection_id, entity_id } = called;
  const known = (listed[definition] ??= { kind, name: called.name, connection_id, entity_id });
  known.entity_id = entity_id ?? known.entity_id;
  const key = `${client} ${definition}`;
  let pair = pairs.get(key);
  if (pair === undefined) {
    pair = { client, definition, calls: 0, waited_ms: 0, longest_ms: 0, failed: {}, histogram: {} };
    pairs.set(key, pair);
  }
  return pair;
}

/** The index of a name. A new name gets the next index. */
export function indexIn(places: Map<string, number>, name: string): number {
  const known = places.get(name);
  if (known !== undefined) return known;
  places.set(name, places.size);
  return places.size - 1;
}

export function mergeMatrix(into: Matrix, from: Matrix): void {
  const clients = [...from.clients.keys()];
  for (const pair of from.pairs.values()) {
    const called = from.listed[pair.definition];
    const client = clients[pair.client];
    if (called !== undefined && client !== undefined) addPair(pairOf(into, client, called), pair);
  }
}

function addPair(into: Pair, from: Pair): void {
  into.calls += from.calls;
  into.waited_ms += from.waited_ms;
  into.longest_ms = Math.max(into.longest_ms, from.longest_ms);
  for (const [outcome, count] of Object.entries(from.failed)) addFailed(into, Number(outcome), count);
  mergeInto(into.histogram, from.histogram);
}

/** Client, definition, calls, ms of waits, longest wait, outcomes with their counts, durations. */
type StoredPair = [number, number, number, number, number, number[], Histogram];
interface StoredSums {
  readonly clients: readonly string[];
  readonly definitions: readonly Definition[];
  readonly pairs: readonly StoredPair[];
}

/** The stored form of a matrix, to which calls can be added. */
export function toSums({ clients, listed, pairs }: Matrix): string {
  const stored: StoredSums = {
    clients: [...clients.keys()],
    definitions: listed,
    pairs: [...pairs.values()].map(({ client, definition, calls, waited_ms, longest_ms, failed, histogram }) => {
      const outcomes = Object.entries(failed).flatMap(([outcome, count]) => [Number(outcome), count]);
      return [client, definition, calls, round(waited_ms), round(longest_ms), outcomes, histogram];
    }),
  };
  return JSON.stringify(stored);
}

/** Adds stored sums. */
export function addSums(into: Matrix, text: string): void {
  const { clients, definitions, pairs } = JSON.parse(text) as StoredSums;
  for (const [client, definition, calls, waited_ms, longest_ms, outcomes, histogram] of pairs) {
    const called = definitions[definition];
    if (called === undefined) continue;
    const pair = pairOf(into, clients[client] ?? '', called);
    pair.calls += calls;
    pair.waited_ms += waited_ms;
    pair.longest_ms = Math.max(pair.longest_ms, longest_ms);
    for (let n = 0; n < outcomes.length; n += 2) addFailed(pair, outcomes[n] ?? 0, outcomes[n + 1] ?? 0);
    mergeInto(pair.histogram, histogram);
  }
}

export function addFailed({ failed }: Pair, outcome: number, count: number): void {
  failed[outcome] = (failed[outcome] ?? 0) + count;
}

/** The form of a matrix for readers: flat lists of numbers, as in the contract's `TrafficSpan`. */
export interface Cells {
  readonly clients: readonly string[];
  readonly definitions: readonly Definition[];
  readonly connections: readonly string[];
  readonly pairs: readonly number[];
  readonly failures: readonly number[];
  readonly p95: {
    readonly clients: number[];
    readonly definitions: number[];
    readonly connections: number[];
    readonly all: number;
  };
}

export function toCells(matrix: Matrix): Cells {
  const connections = new Map<string, number>();
  const [of_clients, of_definitions, of_connections]: [Histogram[], Histogram[], Histogram[]] = [[], [], []];
  const all: Histogram = {};
  const pairs: number[] = [];
  const failures: number[] = [];
  for (const pair of matrix.pairs.values()) {
    const { client, definition, calls, waited_ms, longest_ms, failed, histogram } = pair;
    pairs.push(client, definition, calls, p95(histogram), Math.round(waited_ms), Math.round(longest_ms));
    for (const [outcome, count] of Object.entries(failed)) failures.push(client, definition, Number(outcome), count);
    mergeInto((of_clients[client] ??= {}), histogram);
    mergeInto((of_definitions[definition] ??= {}), histogram);
    mergeInto(all, histogram);
    const connection_id = matrix.listed[definition]?.connection_id ?? null;
    if (connection_id !== null) mergeInto((of_connections[indexIn(connections, connection_id)] ??= {}), histogram);
  }
  return {
    clients: [...matrix.clients.keys()],
    definitions: matrix.listed,
    connections: [...connections.keys()],
    pairs,
    failures,
    p95: {
      clients: of_clients.map(p95),
      definitions: of_definitions.map(p95),
      connections: of_connections.map(p95),
      all: p95(all),
    },
  };
}

/** Short in JSON, and as precise as its bucket. */
function p95(histogram: Histogram): number {
  const ms = quantile(histogram, 0.95);
  return ms < 10 ? round(ms) : Math.round(ms);
}

const round = (value: number): number => Math.round(value * 100) / 100;
