import { behind, callsOf, type InsightDraft, type InsightRule, percent, quantileOf, seconds } from './insight.ts';
import { callsOfConnection, type MeasuredCall, type Observed, type ObservedConnection } from './observed.ts';

const LEAST = 3;
const LEAST_SHARE = 0.01;
const SAMPLE = 100;
/** Connections whose waits are read: those with the most calls. */
const MOST_CONNECTIONS = 20;
const LONG_WAIT_MS = 1_000;
const Q = 0.95;
/** The limits in the contract. */
const MOST_CONCURRENCY = 200;
const MOST_POOL = 100;
const MOST_WAITING = 10_000;

/** Calls get no slot, or wait long for one: the concurrency of the connection is too low. */
export const shortQueue: InsightRule = {
  name: 'short-queue',
  find: async (app, observed) => {
    const counts = countsOf(observed).slice(0, MOST_CONNECTIONS);
    const found = await Promise.all(
      counts.map(async ({ connection, calls, no_slot }): Promise<InsightDraft[]> => {
        if (no_slot >= LEAST && no_slot >= LEAST_SHARE * calls) {
          const last = await callsOfConnection(app, observed, connection, SAMPLE, 'no_slot');
          return [rejected(last, connection, no_slot, calls)];
        }
        const sample = await callsOfConnection(app, observed, connection, SAMPLE);
        const waits = quantileOf(
          sample.map(({ wait_ms }) => wait_ms),
          Q,
        );
        if (sample.length < LEAST || waits < Math.min(LONG_WAIT_MS, connection.queue_timeout_ms / 2)) return [];
        const long = sample.filter(({ wait_ms }) => wait_ms >= waits);
        return [
          {
            entity: { kind: 'connection', id: connection.id, name: connection.name },
            severity: 'warning',
            message: `5% of the last ${callsOf(sample.length)} on ${connection.name} waited ${seconds(waits)} or longer for a slot.`,
            advice: 'Let more calls run at once if the database can take it, or make the slowest statements faster.',
            logs: { connection_id: connection.id },
            fix: widened(connection),
            ...behind(long, long.length, sample.length),
          },
        ];
      }),
    );
    return found.flat();
  },
};

function countsOf({ tools, usage, by_id }: Observed) {
  const counts = new Map<string, { connection: ObservedConnection; calls: number; no_slot: number }>();
  for (const { name, connection_id } of tools) {
    const used = usage.get(name);
    const connection = by_id.get(connection_id);
    if (used === undefined || connection === undefined) continue;
    const known = counts.get(connection_id) ?? { connection, calls: 0, no_slot: 0 };
    known.calls += used.calls;
    known.no_slot += used.no_slot;
    counts.set(connection_id, known);
  }
  return [...counts.values()].toSorted((a, b) => b.no_slot - a.no_slot || b.calls - a.calls);
}

/** @param last the newest calls without a slot. */
function rejected(last: readonly MeasuredCall[], connection: ObservedConnection, no_slot: number, all: number): InsightDraft {
  const { id, name, queue_limit, queue_timeout_ms } = connection;
  const waited = last.filter(({ error }) => error === 'no_free_slot').length;
  const why =
    waited * 2 >= last.length
      ? `they waited ${seconds(queue_timeout_ms)} for one, and `
      : queue_limit === 0
        ? 'its queue is off, and '
        : `${callsOf(queue_limit)} waited already, and `;
  return {
    entity: { kind: 'connection', id, name },
    message: `${callsOf(no_slot)} on ${name} got no slot (${percent(no_slot, all)}): ${last.length === 0 ? '' : why}at most ${slotsOf(connection)} run at once on one host.`,
    advice:
      'Let more calls run at once if the database can take it, lengthen the queue if the load comes in bursts, or make the slowest statements faster.',
    logs: { connection_id: id, outcome: 'no_slot' },
    fix: widened(connection) ?? lengthened(connection),
    ...behind(last, no_slot, all),
  };
}

const slotsOf = ({ max_concurrency, pool_size }: ObservedConnection): number => max_concurrency ?? pool_size;

/** Doubles the concurrency and the number of sessions. */
function widened(connection: ObservedConnection): InsightDraft['fix'] {
  const now = slotsOf(connection);
  const max_concurrency = Math.min(MOST_CONCURRENCY, Math.max(2, now * 2));
  if (max_concurrency <= now) return undefined;
  const pool_size = Math.min(MOST_POOL, Math.max(connection.pool_size, max_concurrency));
  return {
    label: `Let ${max_concurrency} calls run at once`,
    entity: { kind: 'connection', id: connection.id },
    changes: { version: connection.version, max_concurrency, pool_size },
  };
}

function lengthened({ id, version, queue_limit }: ObservedConnection): InsightDraft['fix'] {
  if (queue_limit >= MOST_WAITING) return undefined;
  const longer = Math.min(MOST_WAITING, Math.max(10, queue_limit * 2));
  return { label: `Let ${longer} calls wait`, entity: { kind: 'connection', id }, changes: { version, queue_limit: longer } };
}
