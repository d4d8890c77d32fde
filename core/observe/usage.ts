import type { Platform } from '#core/platform/platform.ts';
import { and, eq, isNull, lt, or, sql } from 'drizzle-orm';
import type { CallGroup, CallNote, Calls, UsageBatch } from '#core/contract/observe/usage-batch.ts';
import { announce } from '#core/platform/announcements.ts';
import { signal } from '#core/platform/signals.ts';
import { countOnSides } from './canary-sides.ts';
import { rowsOf } from '#core/store/columns.ts';
import { enterAudit } from '#core/records/audit-log.ts';
import type { Db } from '#core/store/store.ts';
import { callerNames } from './caller-names.ts';
import { noteClientVersions } from './client-versions.ts';
import { countCalls } from './count-calls.ts';
import { addToSessions } from './sessions/mcp-sessions.ts';
import { storeRefusals } from './refusals.ts';
import { tokenNames } from './token-names.ts';
import { auditOfCalls, auditOfRefusals } from './usage-audit.ts';
import { addToTraffic } from './traffic/traffic.ts';
import { addToSeries, takeTurns } from './usage-series.ts';

/** A host's clock may be ahead by this much. Later times are replaced by the present. */
const CLOCK_SKEW_MS = 5 * 60_000;

/**
 * Stores a batch of a host in one transaction: every call, the series, and the host's queues.
 * @returns false when this batch of this boot was already stored.
 */
export async function storeUsage(app: Platform, host_id: string, sent: UsageBatch): Promise<boolean> {
  const named = await callerNames(app, [...sent.groups, ...sent.lists, ...(sent.running ?? [])]);
  const running = sent.running && { running: sent.running.map(named) };
  const batch = { ...sent, groups: sent.groups.map(named), lists: sent.lists.map(named), ...running };
  const { groups } = batch;
  const calls = { ...batch.calls, timestamp: notAhead(batch.calls.timestamp, app.clock().getTime()) };
  const latest = app.clock().getTime() + CLOCK_SKEW_MS;
  const lists = batch.lists.map((list) => ({ ...list, timestamp: Math.min(list.timestamp, latest) }));
  const { cells, cell_of } = countCalls(calls);
  const token_names = await tokenNames(
    app,
    groups.map(({ caller }) => caller?.token),
  );
  let sessions: number[] = [];
  let counted = false;
  const stored = await app.store.write(async (tx) => {
    if (!(await claim(app, tx, host_id, batch))) return false;
    if (calls.timestamp.length + lists.length > 0) {
      await takeTurns(app, tx);
      sessions = await addToSessions(app, tx, groups, cells, lists);
      await noteClientVersions(app, tx, groups, cells, lists);
    }
    if (calls.timestamp.length > 0) {
      const session_ids = cell_of.map((index) => sessions[index] ?? 0);
      await insertLogs(app, tx, { ...batch, calls }, session_ids);
      await addToSeries(app, tx, groups, cells);
      await addToTraffic(app, tx, groups, cells);
      counted = await countOnSides(app, tx, groups, cells, calls);
    }
    await storeRefusals(app, tx, batch);
    await enterAudit(app, tx, [...auditOfCalls(groups, cells, token_names), ...auditOfRefusals(batch)]);
    await noteTokenUses(app, tx, batch.token_uses);
    return true;
  });
  if (stored && counted) await signal(app, 'canary');
  if (stored && calls.timestamp.length + lists.length + batch.refusals.length > 0) announce(app, 'calls');
  if (stored && isAtWork(batch)) announce(app, 'queue');
  return stored;
}

/** Reports of an idle queue are all the same. */
const isAtWork = ({ calls, queues = [], running = [] }: UsageBatch): boolean =>
  calls.timestamp.length > 0 || running.length > 0 || queues.some(({ active, waiting }) => active + waiting > 0);

const notAhead = (times: Calls['timestamp'], now: number): Calls['timestamp'] =>
  times.some((ms) => ms > now + CLOCK_SKEW_MS) ? times.map((ms) => (ms > now + CLOCK_SKEW_MS ? now : ms)) : times;

/** Sequence numbers increase within a boot, so a batch that is not newer than the stored one was already stored. */
async function claim(app: Platform, tx: Db, host_id: string, { boot_id, seq, queues, running }: UsageBatch): Promise<boolean> {
  const { host_reports } = app.store.tables;
  const report = { seq, reported_at: app.clock().toISOString(), ...(queues && { queues }), ...(running && { running }) };
  const stored = await tx
    .insert(host_reports)
    .values({ boot_id, host_id, queues: [], ...report })
    .onConflictDoUpdate({ target: host_reports.boot_id, set: report, setWhere: lt(host_reports.seq, seq) })
    .returning({ boot_id: host_reports.boot_id });
  return stored.length > 0;
}

/** Deletes the report of a host's boot. Its calls stay. */
export async function forgetReports(app: Platform, boot_id: string): Promise<void> {
  const { host_reports } = app.store.tables;
  await app.store.write((tx) => tx.delete(host_reports).where(eq(host_reports.boot_id, boot_id)));
}

async function insertLogs(
  app: Platform,
  tx: Db,
  { groups, calls, notes }: Pick<UsageBatch, 'groups' | 'calls' | 'notes'>,
  sessions: readonly number[],
): Promise<void> {
  const { request_logs } = app.store.tables;
  const { dialect } = app.store;
  const { outcomes, places } = toOutcomes(groups, calls);
  const none = calls.timestamp.map(() => 0);
  const noted = (read: (note: CallNote) => string | undefined) => {
    const cells: (string | null)[] = none.map(() => null);
    for (const one of notes) if (one.at < cells.length) cells[one.at] = read(one) ?? null;
    return { type: 'text', cells } as const;
  };
  const note = (name: 'error_message' | 'sqlstate' | 'trace_id' | 'arguments') => noted((one) => one[name]);
  const text = (name: Texts) => ({ type: 'text', cells: outcomes.map((outcome) => outcome[name]) }) as const;
  const done = rowsOf(
    dialect,
    'done',
    {
      timestamp: { type: 'time', cells: calls.timestamp },
      duration_ms: { type: 'thousandths', cells: calls.duration_ms },
      wait_ms: { type: 'thousandths', cells: calls.wait_ms },
      rows: { type: 'integer', cells: calls.rows },
      database_ms: { type: 'thousandths', cells: calls.database_ms },
      bytes: { type: 'integer', cells: calls.bytes.map((size) => Math.round(size)) },
      tokens: { type: 'integer', cells: calls.tokens },
      truncated: { type: 'integer', cells: calls.truncated ?? none },
      error_message: note('error_message'),
      sqlstate: note('sqlstate'),
      trace_id: note('trace_id'),
      arguments: note('arguments'),
      ignored_arguments: noted(({ ignored_arguments: ignored }) => ignored && JSON.stringify(ignored)),
      session_id: { type: 'integer', cells: sessions },
    },
    {
      places,
      columns: {
        kind: text('kind'),
        name: text('name'),
        connection_id: text('connection_id'),
        client: text('client'),
        token_prefix: text('token_prefix'),
        error: text('error'),
        confirmation: { type: 'text', cells: outcomes.map(({ confirmation }) => confirmation ?? null) },
        canary: { type: 'text', cells: outcomes.map(({ canary }) => (canary?.side === 'canary' ? canary.id : null)) },
        snapshot_version: { type: 'integer', cells: outcomes.map(({ snapshot_version: version }) => version ?? NO_VERSION) },
      },
    },
  );
  // The database numbers the rows in the order of the calls.
  const id = dialect === 'sqlite' ? 'null' : "nextval('request_logs_id_seq')";
  const columns = `${id}, timestamp, kind, name, connection_id, client, token_prefix, duration_ms, wait_ms, rows, error is null, error, nullif(snapshot_version, ${NO_VERSION}), confirmation, database_ms, bytes, tokens, error_message, sqlstate, trace_id, session_id, arguments, truncated = 1, canary, ignored_arguments`;
  await tx.insert(request_logs).select(sql`with recursive ${done} select ${sql.raw(columns)} from done`);
}

type Texts = 'kind' | 'name' | 'connection_id' | 'client' | 'token_prefix' | 'error';
/** Version numbers start at 1, and the column cannot be null. */
const NO_VERSION = 0;

/** Groups by error: there are few errors, and every call belongs to one group. */
function toOutcomes(groups: readonly CallGroup[], { group, error }: Calls) {
  const outcomes: (CallGroup & { error: string | null })[] = groups.map((one) => ({ ...one, error: null }));
  const failed = new Map<string, number>();
  const places = group.map((index, n) => {
    const code = error[n] ?? null;
    const called = groups[index];
    if (code === null || called === undefined) return index;
    const key = `${index} ${code}`;
    const known = failed.get(key) ?? outcomes.push({ ...called, error: code }) - 1;
    failed.set(key, known);
    return known;
  });
  return { outcomes, places };
}

async function noteTokenUses(app: Platform, tx: Db, uses: UsageBatch['token_uses']): Promise<void> {
  const { mcp_tokens } = app.store.tables;
  const now = app.clock().toISOString();
  for (const { id, ...use } of uses) {
    // If a host's clock is ahead, a later time would keep an idle token valid for longer.
    const last_used_at = use.last_used_at < now ? use.last_used_at : now;
    await tx
      .update(mcp_tokens)
      .set({ last_used_at })
      .where(and(eq(mcp_tokens.id, id), or(isNull(mcp_tokens.last_used_at), lt(mcp_tokens.last_used_at, last_used_at))));
  }
}
