import { createHash } from 'node:crypto';
import { and, gte, inArray, or, type SQL, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { CallGroup, Calls } from '#core/contract/observe/usage-batch.ts';
import { rowsOf } from '#core/store/columns.ts';
import type { Db } from '#core/store/open.ts';
import type { Schema } from '#core/store/schema.ts';

/** Calls of a caller without sessions belong together until there is none for so long (contract section 20). */
export const GAP_MS = 30 * 60_000;
/** Keys that one statement asks for. */
const PAGE = 500;

/** Calls of one client in a batch, without a long break. */
interface Stretch {
  readonly key: string;
  readonly of: CallGroup;
  started_ms: number;
  last_ms: number;
  calls: number;
  errors: number;
  rows: number;
  tokens: number;
  /** Of the stored session, once it is stored. */
  id: number;
}

/** Adds calls to the sessions that they are part of. @returns the id of its session for each call. */
export async function addToSessions(app: App, tx: Db, groups: readonly CallGroup[], calls: Calls): Promise<number[]> {
  const stretches: Stretch[] = [];
  const place = toStretches(groups, calls, stretches);
  const stored = await latestOf(app, tx, stretches);
  for (const stretch of stretches) {
    const known = stored.get(stretch.key);
    if (known === undefined) continue;
    // A session of the protocol is one, however long it was quiet.
    if (stretch.of.session === undefined && stretch.started_ms - Date.parse(known.last_at) > GAP_MS) continue;
    stretch.started_ms = Date.parse(known.started_at);
  }
  await write(app, tx, mergeSame(stretches));
  return place.map((at) => stretches[at]?.id ?? 0);
}

function toStretches(groups: readonly CallGroup[], calls: Calls, stretches: Stretch[]): number[] {
  const key_of = keysOf(groups);
  const latest = new Map<string, number>();
  return calls.group.map((group, n) => {
    const key = key_of[group] ?? '';
    const at = calls.timestamp[n] ?? 0;
    let place = latest.get(key);
    const known = place === undefined ? undefined : stretches[place];
    const of = groups[group];
    if (place === undefined || known === undefined || (of?.session === undefined && at - known.last_ms > GAP_MS)) {
      const empty = { calls: 0, errors: 0, rows: 0, tokens: 0, id: 0 };
      place = stretches.push({ key, of: of ?? NOBODY, started_ms: at, last_ms: at, ...empty }) - 1;
      latest.set(key, place);
    }
    const stretch = stretches[place];
    if (stretch === undefined) return place;
    stretch.started_ms = Math.min(stretch.started_ms, at);
    stretch.last_ms = Math.max(stretch.last_ms, at);
    stretch.calls += 1;
    if (calls.error[n] !== null) stretch.errors += 1;
    stretch.rows += calls.rows[n] ?? 0;
    stretch.tokens += calls.tokens?.[n] ?? 0;
    return place;
  });
}

const NOBODY: CallGroup = {
  kind: 'tool',
  name: '',
  entity_id: null,
  connection_id: null,
  snapshot_version: null,
  client: null,
  token_prefix: null,
};

/** Groups of one client differ in what was called. */
function keysOf(groups: readonly CallGroup[]): string[] {
  return groups.map(({ session, client, token_prefix, caller }) => {
    const said = session === undefined ? [client, token_prefix, caller?.person, caller?.token, caller?.client_id] : [session];
    return createHash('sha256').update(JSON.stringify(said)).digest('base64url').slice(0, 22);
  });
}

type StoredSession = Pick<Schema['mcp_sessions']['$inferSelect'], 'key' | 'started_at' | 'last_at'>;

/** Of each key the session that began last, if it may still go on. */
async function latestOf(app: App, tx: Db, stretches: readonly Stretch[]): Promise<Map<string, StoredSession>> {
  const { mcp_sessions: table } = app.store.tables;
  const found = new Map<string, StoredSession>();
  const since = new Date(stretches.reduce((least, { started_ms }) => Math.min(least, started_ms), Infinity) - GAP_MS);
  const keys = [...new Set(stretches.map(({ key }) => key))];
  const with_session = new Set(stretches.filter(({ of }) => of.session !== undefined).map(({ key }) => key));
  for (let start = 0; start < keys.length; start += PAGE) {
    const page = keys.slice(start, start + PAGE);
    const recent = and(inArray(table.key, page), gte(table.last_at, since.toISOString()));
    const whole = page.filter((key) => with_session.has(key));
    const rows = await tx
      .select({ key: table.key, started_at: table.started_at, last_at: table.last_at })
      .from(table)
      .where(whole.length === 0 ? recent : or(recent, inArray(table.key, whole)));
    for (const row of rows) {
      const known = found.get(row.key);
      if (known === undefined || known.started_at < row.started_at) found.set(row.key, row);
    }
  }
  return found;
}

/** Two stretches of a batch may go on the same stored session: a statement writes each row once. */
function mergeSame(stretches: readonly Stretch[]): Stretch[][] {
  return [...Map.groupBy(stretches, ({ key, started_ms }) => `${key} ${started_ms}`).values()];
}

async function write(app: App, tx: Db, merged: readonly Stretch[][]): Promise<void> {
  const { mcp_sessions: table } = app.store.tables;
  const first = merged.flatMap(([one]) => one ?? []);
  const text = (read: (of: CallGroup) => string | null | undefined) =>
    ({ type: 'text', cells: first.map(({ of }) => read(of) ?? null) }) as const;
  const total = (name: 'calls' | 'errors' | 'rows' | 'tokens') =>
    merged.map((stretches) => stretches.reduce((sum, stretch) => sum + stretch[name], 0));
  const added = rowsOf(app.store.dialect, 'added', {
    key: { type: 'text', cells: first.map(({ key }) => key) },
    session: text(({ session }) => session),
    client: text(({ client }) => client),
    token_prefix: text(({ token_prefix }) => token_prefix),
    person: text(({ caller }) => caller?.person),
    token: text(({ caller }) => caller?.token),
    client_id: text(({ caller }) => caller?.client_id),
    started_at: { type: 'time', cells: first.map(({ started_ms }) => started_ms) },
    last_at: { type: 'time', cells: merged.map((stretches) => Math.max(...stretches.map(({ last_ms }) => last_ms))) },
    calls: { type: 'integer', cells: total('calls') },
    errors: { type: 'integer', cells: total('errors') },
    rows: { type: 'real', cells: total('rows') },
    tokens: { type: 'real', cells: total('tokens') },
  });
  const id = app.store.dialect === 'sqlite' ? 'null' : "nextval('mcp_sessions_id_seq')";
  const stored = await tx
    .insert(table)
    .select(sql`with recursive ${added} select ${sql.raw(`${id}, ${COLUMNS.join(', ')}`)} from added where true`)
    .onConflictDoUpdate({
      target: [table.key, table.started_at],
      set: {
        ...Object.fromEntries(SUMS.map((name) => [name, sql`${table[name]} + excluded.${sql.identifier(name)}`])),
        last_at: later(table.last_at),
      },
    })
    .returning({ id: table.id, key: table.key, started_at: table.started_at });
  const ids = new Map(stored.map(({ id: stored_id, key, started_at }) => [`${key} ${Date.parse(started_at)}`, stored_id]));
  for (const stretch of merged.flat()) stretch.id = ids.get(`${stretch.key} ${stretch.started_ms}`) ?? 0;
}

const SUMS = ['calls', 'errors', 'rows', 'tokens'] as const;
/** In the order of the table, after the id. */
const COLUMNS = [
  ...(['key', 'session', 'client', 'token_prefix', 'person', 'token', 'client_id', 'started_at', 'last_at'] as const),
  ...SUMS,
];

const later = (stored: Schema['mcp_sessions']['last_at']): SQL =>
  sql`case when excluded.last_at > ${stored} then excluded.last_at else ${stored} end`;
