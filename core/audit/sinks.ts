import { and, asc, desc, eq, gt } from 'drizzle-orm';
import { once } from 'node:events';
import type { Output } from '#core/contract/index.ts';
import type { AuditEntry, AuditHead } from '#core/contract/observe/audit.ts';
import type { AuditSyslog } from '#core/contract/settings/audit-settings.ts';
import { dialSocket, resolveTarget } from '#core/engines/shared/dial.ts';
import { secureSocket } from '#core/engines/shared/tls.ts';
import { AppError } from '#core/errors.ts';
import { type Lease, withLease } from '#core/platform/leases.ts';
import type { Platform } from '#core/platform/platform.ts';
import { type Outcome, runEvery } from '#core/platform/run-every.ts';
import { readSettings, type Settings } from '#core/settings/settings.ts';
import type { Schema } from '#core/store/schema.ts';
import { FORMATS, otlpLogs, syslogFrame } from './formats.ts';
import { readEntries } from './read-entries.ts';
import { tipOf } from './writer.ts';

type SinkRow = Schema['audit_sinks']['$inferSelect'];
type SinkName = SinkRow['name'];

const LOOK_MS = 2_000;
const TIMEOUT_MS = 15_000;
/** Entries of one request or connection. */
const AT_ONCE = 500;
/** Waits after failures in a row. */
const PAUSES_MS = [2_000, 10_000, 60_000] as const;

interface Part {
  readonly entries: readonly AuditEntry[];
  readonly heads: readonly AuditHead[];
}

/** Sends a part of the log; rejects when it may not have arrived, and the part is sent again. */
type Send = (part: Part, signal: AbortSignal) => Promise<void>;

/** Sends entries and heads to syslog and OTLP, on one server at a time. @returns a function that stops it. */
export function keepSendingAudit(app: Platform): () => void {
  const send = createAuditSender(app);
  return runEvery(app, { every_ms: LOOK_MS, what: 'sending the audit log', work: send, at_once: true });
}

/** @returns a function that sends what is due once. */
export function createAuditSender(app: Platform): () => Promise<Outcome> {
  const failures = new Map<SinkName, { readonly count: number; readonly next: number }>();
  return async () => {
    const { settings } = await readSettings(app);
    const senders = sendersOf(app, settings);
    for (const [name, send] of senders) {
      const failed = failures.get(name);
      if (failed !== undefined && performance.now() < failed.next) continue;
      const error = await sendTo(app, name, send);
      if (error === null) failures.delete(name);
      else {
        const count = (failed?.count ?? 0) + 1;
        const pause = PAUSES_MS[Math.min(count, PAUSES_MS.length) - 1] ?? 0;
        failures.set(name, { count, next: performance.now() + pause });
        if (count === 1) app.log.warning('the audit log was not sent', { to: name, reason: error });
      }
    }
    await forgetSinks(app, settings);
    return senders.size === 0 ? 'idle' : undefined;
  };
}

function sendersOf(app: Platform, { audit_syslog, audit_otlp }: Settings): Map<SinkName, Send> {
  const senders = new Map<SinkName, Send>();
  if (audit_syslog !== null) senders.set('syslog', toSyslog(app, audit_syslog));
  if (audit_otlp && app.env.SVC_OTLP_ENDPOINT !== null) senders.set('otlp', toOtlp(app, app.env.SVC_OTLP_ENDPOINT));
  return senders;
}

/** @returns why it failed; null: everything was sent, or another server sends. */
async function sendTo(app: Platform, name: SinkName, send: Send): Promise<string | null> {
  const state = await stateOf(app, name);
  if (await isDone(app, state)) return null;
  return withLease(app, `audit_sink/${name}`, async (held, lease) => {
    for (;;) {
      const row = await stateOf(held, name);
      const part = await nextPart(held, row);
      if (part.entries.length + part.heads.length === 0) return null;
      const error = await attempt(send, part, lease);
      const seq = part.entries.at(-1)?.seq ?? row.seq;
      const head = part.heads.at(-1)?.id ?? row.head;
      await store(held, { ...row, ...(error === null && { seq, head }), error, at: held.clock().toISOString() });
      if (error !== null) return error;
    }
  });
}

async function attempt(send: Send, part: Part, lease: Lease): Promise<string | null> {
  const { lost } = lease;
  await lease.check();
  try {
    await send(part, AbortSignal.any([lost, AbortSignal.timeout(TIMEOUT_MS)]));
    return null;
  } catch (error) {
    lost.throwIfAborted();
    if (error instanceof AppError) return error.detail;
    const is_late = error instanceof Error && error.name === 'TimeoutError';
    return is_late ? `It did not answer within ${TIMEOUT_MS / 1_000} s.` : 'The connection was closed or refused.';
  }
}

/** A sink begins with the entries after it was set up. */
async function stateOf(app: Platform, name: SinkName): Promise<SinkRow> {
  const { audit_sinks: sinks, audit_heads: heads } = app.store.tables;
  const [known] = await app.store.db.select().from(sinks).where(eq(sinks.name, name));
  if (known !== undefined) return known;
  const tip = await tipOf(app, app.store.db);
  const [head] = await app.store.db
    .select({ id: heads.id })
    .from(heads)
    .where(eq(heads.type, 'head'))
    .orderBy(desc(heads.id))
    .limit(1);
  const fresh = { name, seq: tip?.seq ?? 0, head: head?.id ?? null, error: null, at: app.clock().toISOString() };
  await store(app, fresh);
  return fresh;
}

async function store(app: Platform, row: SinkRow): Promise<void> {
  const { audit_sinks: sinks } = app.store.tables;
  await app.store.write((tx) => tx.insert(sinks).values(row).onConflictDoUpdate({ target: sinks.name, set: row }));
}

async function isDone(app: Platform, { seq, head }: SinkRow): Promise<boolean> {
  const tip = await tipOf(app, app.store.db);
  return (tip?.seq ?? 0) <= seq && (await headsAfter(app, head, 1)).length === 0;
}

async function nextPart(app: Platform, { seq, head }: SinkRow): Promise<Part> {
  const entries = await readEntries(app, {}, { after: seq }, AT_ONCE);
  // A head follows the entries that it signs.
  const heads = entries.length === AT_ONCE ? [] : await headsAfter(app, head, AT_ONCE);
  return { entries, heads };
}

/** Ids of heads grow with time. */
async function headsAfter({ store: { db, tables } }: Platform, id: string | null, most: number): Promise<AuditHead[]> {
  const { audit_heads: heads } = tables;
  const after = id === null ? undefined : gt(heads.id, id);
  return db
    .select()
    .from(heads)
    .where(and(eq(heads.type, 'head'), after))
    .orderBy(asc(heads.id))
    .limit(most);
}

/** A sink that is set up again later begins anew. */
async function forgetSinks(app: Platform, { audit_syslog, audit_otlp }: Settings): Promise<void> {
  const { audit_sinks: sinks } = app.store.tables;
  const off = { syslog: audit_syslog === null, otlp: !audit_otlp };
  for (const { name } of await app.store.db.select({ name: sinks.name }).from(sinks))
    if (off[name]) await app.store.write((tx) => tx.delete(sinks).where(eq(sinks.name, name)));
}

/** How far each sink is. */
export async function sinkStates(app: Platform): Promise<Output<'audit.sinks'>['items']> {
  const tip = await tipOf(app, app.store.db);
  const rows = await app.store.db.select().from(app.store.tables.audit_sinks);
  return rows.map(({ name, seq, error, at }) => ({ name, seq, waiting: Math.max(0, (tip?.seq ?? 0) - seq), error, at }));
}

/**
 * Dials the checked address, as for connections to databases. A syslog server acknowledges nothing: what it closed the connection
 * on before everything was written is sent again, so an entry can arrive twice, with the same hash.
 */
function toSyslog(app: Platform, { host, port, tls, format, ca }: AuditSyslog): Send {
  const trust = { host, ssl_mode: 'verify-full', ssl_ca: ca, ssl_cert: null, ssl_key: null } as const;
  return async ({ entries, heads }, signal) => {
    const target = await resolveTarget(host, port, app.policy);
    const dialled = await dialSocket(target, signal);
    const socket = tls ? await secureSocket(dialled, trust, signal) : dialled;
    try {
      const frames = [
        ...entries.map((entry) => syslogFrame('audit', entry.at, entry.seq, FORMATS[format](entry))),
        ...heads.map((head) => syslogFrame('audit_head', head.at, head.seq, head)),
      ];
      const closed = once(socket, 'close', { signal });
      socket.end(Buffer.concat(frames));
      socket.resume();
      await closed;
    } finally {
      socket.destroy();
    }
  };
}

/** The operator chose the endpoint, so its address is not checked. */
function toOtlp({ env }: Platform, endpoint: string): Send {
  // The variable may name the address of traces.
  const url = `${endpoint.replace(/\/(v1\/traces\/?)?$/, '')}/v1/logs`;
  const is_packed = env.SVC_OTLP_COMPRESSION === 'gzip';
  return async ({ entries, heads }, signal) => {
    const encoding = is_packed ? { 'content-encoding': 'gzip' } : {};
    const headers = { ...env.SVC_OTLP_HEADERS, ...encoding, 'content-type': 'application/json' };
    const text = JSON.stringify(otlpLogs(entries, heads));
    const body = is_packed ? Bun.gzipSync(text) : text;
    const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
    await answer.body?.cancel();
    if (!answer.ok) throw new AppError('unavailable', `The collector answered ${answer.status}.`);
  };
}
