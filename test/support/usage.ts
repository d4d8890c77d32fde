import type { CallGroup, CallNote, Calls } from '#core/contract/observe/usage-batch.ts';
import type { Product } from './programs.ts';

type Columns = { [K in keyof Calls]-?: NonNullable<Calls[K]> };

/** One call of a batch as a record. */
export interface Call
  extends CallGroup, Omit<{ [K in keyof Columns]: Columns[K][number] }, 'group' | 'timestamp'>, Omit<CallNote, 'at'> {
  /** ISO 8601. */
  readonly timestamp: string;
  readonly success: boolean;
}

type Batch = { readonly groups: readonly CallGroup[]; readonly calls: Calls; readonly notes?: readonly CallNote[] };

/** Calls as a host sends them. A record without a time in the database spent all but its wait there. */
export function toBatch(records: readonly Partial<Call>[]) {
  const list = <K extends keyof Call>(name: K) => records.map((record) => record[name] as Call[K]);
  return {
    groups: records.map(({ kind, name, entity_id, connection_id, snapshot_version, client, token_prefix, ...rest }) => {
      const { canary, confirmation, caller, session, unmasked, protocol_version } = rest;
      const group = { kind, name, entity_id, connection_id, snapshot_version, client, token_prefix };
      return {
        ...group,
        ...(canary === undefined ? {} : { canary }),
        ...(confirmation === undefined ? {} : { confirmation }),
        ...(caller === undefined ? {} : { caller }),
        ...(session === undefined ? {} : { session }),
        ...(unmasked === undefined ? {} : { unmasked }),
        ...(protocol_version === undefined ? {} : { protocol_version }),
      };
    }),
    calls: {
      group: records.map((_, place) => place),
      timestamp: list('timestamp').map((text) => Date.parse(text)),
      duration_ms: list('duration_ms'),
      wait_ms: list('wait_ms'),
      rows: list('rows'),
      bytes: list('bytes'),
      database_ms: records.map(
        ({ duration_ms = 0, wait_ms = 0, database_ms }) => database_ms ?? Math.max(0, duration_ms - wait_ms),
      ),
      tokens: records.map(({ tokens = 0 }) => tokens),
      ...(records.some(({ truncated }) => truncated !== undefined) && {
        truncated: records.map(({ truncated = 0 }) => truncated),
      }),
      error: records.map(({ error = null }) => error),
    },
    notes: records.flatMap(({ error_message, sqlstate, trace_id, ignored_arguments, arguments: sent }, at) =>
      [error_message, trace_id, ignored_arguments, sent].every((note) => note === undefined)
        ? []
        : [{ at, error_message, sqlstate, trace_id, ignored_arguments, arguments: sent }],
    ),
  };
}

/** The calls of a batch, one record each. */
export const callsOf = ({ groups, calls, notes = [] }: Batch): Call[] =>
  calls.group.map((place, n) => {
    const group = groups[place];
    const [timestamp, duration_ms, wait_ms] = [calls.timestamp[n], calls.duration_ms[n], calls.wait_ms[n]];
    const [rows, bytes, error = null] = [calls.rows[n], calls.bytes[n], calls.error[n]];
    if (group === undefined || timestamp === undefined || duration_ms === undefined || wait_ms === undefined)
      throw new Error('a torn batch');
    if (rows === undefined || bytes === undefined) throw new Error('a torn batch');
    const time = new Date(timestamp).toISOString();
    const [database_ms = 0, tokens = 0] = [calls.database_ms[n], calls.tokens[n]];
    const truncated = calls.truncated?.[n] ?? 0;
    const { at: _, ...note } = notes.find(({ at }) => at === n) ?? { at: n };
    const took = { duration_ms, wait_ms, database_ms };
    return { ...group, ...note, timestamp: time, ...took, rows, bytes, tokens, truncated, error, success: error === null };
  });

const MINUTE_MS = 60_000;

/** Reports to the server what a busy host would have reported within the last hour: 300 calls of the demo, of which 12 failed. */
export async function reportBusyHour(product: Product, service_token: string): Promise<void> {
  const { items: tools } = await product.api<{ items: { id: string; name: string; connection_id: string }[] }>('GET', '/tools');
  const now = Date.now();
  const call = (name: string, minutes: number, duration_ms: number, error: string | null) => {
    const tool = tools.find((candidate) => candidate.name === name);
    return {
      timestamp: new Date(now - minutes * MINUTE_MS).toISOString(),
      kind: 'tool' as const,
      name,
      entity_id: tool?.id ?? null,
      connection_id: tool?.connection_id ?? null,
      duration_ms,
      wait_ms: 0,
      rows: 3,
      bytes: 120,
      success: error === null,
      error,
      snapshot_version: 1,
      client: 'claude-code/2.1',
    };
  };
  const calls = Array.from({ length: 300 }, (_, n) =>
    call(n % 3 === 0 ? 'list_orders' : 'search_products', 5 + (n % 50), 10 + (n % 7), n % 25 === 0 ? 'timeout' : null),
  );
  const answer = await fetch(`${product.url}/api/internal/hosts/busy/usage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-token': service_token },
    body: JSON.stringify({ boot_id: 'busy', seq: 1, ...toBatch(calls) }),
  });
  if (answer.status !== 204) throw new Error(`The server answered ${answer.status}: ${await answer.text()}`);
}
