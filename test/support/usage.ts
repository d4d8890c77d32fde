import type { CallGroup, Calls } from '#core/contract/monitoring.ts';

/** One call of a batch as a record. */
export interface Call extends CallGroup, Omit<{ [K in keyof Calls]: Calls[K][number] }, 'group' | 'timestamp'> {
  /** ISO 8601. */
  readonly timestamp: string;
  readonly success: boolean;
}

type Batch = { readonly groups: readonly CallGroup[]; readonly calls: Calls };

/** Calls as a host sends them; what a record does not say is absent. */
export function toBatch(records: readonly Partial<Call>[]) {
  const list = <K extends keyof Call>(name: K) => records.map((record) => record[name] as Call[K]);
  return {
    groups: records.map(({ kind, name, entity_id, connection_id, snapshot_version, client, token_prefix, confirmation }) => {
      const group = { kind, name, entity_id, connection_id, snapshot_version, client, token_prefix };
      return confirmation === undefined ? group : { ...group, confirmation };
    }),
    calls: {
      group: records.map((_, place) => place),
      timestamp: list('timestamp').map((text) => Date.parse(text)),
      duration_ms: list('duration_ms'),
      wait_ms: list('wait_ms'),
      rows: list('rows'),
      bytes: list('bytes'),
      error: records.map(({ error = null }) => error),
    },
  };
}

/** The calls of a batch, one record each. */
export const callsOf = ({ groups, calls }: Batch): Call[] =>
  calls.group.map((place, n) => {
    const group = groups[place];
    const [timestamp, duration_ms, wait_ms] = [calls.timestamp[n], calls.duration_ms[n], calls.wait_ms[n]];
    const [rows, bytes, error = null] = [calls.rows[n], calls.bytes[n], calls.error[n]];
    if (group === undefined || timestamp === undefined || duration_ms === undefined || wait_ms === undefined)
      throw new Error('a torn batch');
    if (rows === undefined || bytes === undefined) throw new Error('a torn batch');
    const time = new Date(timestamp).toISOString();
    return { ...group, timestamp: time, duration_ms, wait_ms, rows, bytes, error, success: error === null };
  });
