import { createHash } from 'node:crypto';
import { and, gte, inArray, or, type SQL, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { CallGroup, Calls, ListRead } from '#core/contract/observe/usage-batch.ts';
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
  lists: number;
  calls: number;
  errors: number;
  rows: number;
  tokens: number;
  /** By the name of what was called. */
  readonly names: Map<string, { calls: number; errors: number }>;
  /** Of the stored session, once it is stored. */
  id: number;
}

/** Adds calls and lists to the sessions that they are part of, and keeps the lists. @returns the id of its session for each call. */
export async function addToSessions(
  app: App,
  tx: Db,
  groups: readonly CallGroup[],
  calls: Calls,
  lists: readonly ListRead[],
): Promise<number[]> {
  const stretches: Stretch[] = [];
  const find = createFind(stretches);
  const keys = groups.map(keyOf);
  const of_call = calls.group.map((group, n) => {
    const stretch = find(keys[group] ?? '', groups[group] ?? NOBODY, calls.timestamp[n] ?? 0);
    stretch.calls += 1;
    const failed = calls.error[n] === null ? 0 : 1;
    stretch.errors += failed;
    const { name } = groups[group] ?? NOBODY;
    const named = stretch.names.get(name) ?? { calls: 0, errors: 0 };
    named.calls += 1;
    named.errors += failed;
    stretch.names.set(name, named);
    stretch.rows += calls.rows[n] ?? 0;
    stretch.tokens += calls.tokens?.[n] ?? 0;
    return stretch;
  });
  const of_list = lists.map((list) => {
    const stretch = find(keyOf(list), { ...NOBODY, ...list }, list.timestamp);
    stretch.lists += 1;
    return stretch;
  });
  const stored = await latestOf(app, tx, stretches);
  for (const stretch of stretches) {
    const known = stored.get(stretch.key);
    if (known === undefined) continue;
    // A session of the protocol is one, however long it was quiet.
    if (stretch.of.session === undefined && stretch.started_ms - Date.parse(known.last_at) > GAP_MS) continue;
    stretch.started_ms = Date.parse(known.started_at);
  }
  await write(app, tx, mergeSame(stretches));
  await keepNames(app, tx, stretches);
  await keepLists(app, tx, lists, of_list);
  return of_call.map(({ id }) => id);
}

async function keepNames(app: App, tx: Db, stretches: readonly Stretch[]): Promise<void> {
  const { mcp_session_names: table } = app.store.tables;
  const rows = new Map<string, { session_id: number; name: string; calls: number; errors: number }>();
  for (const { id, names } of stretches) {
    for (const [name, { calls, errors }] of names) {
      const row = rows.get(`${id} ${name}`) ?? { session_id: id, name, calls: 0, errors: 0 };
      row.calls += calls;
      row.errors += errors;
      rows.set(`${id} ${name}`, row);
    }
  }
  const all = [...rows.values()];
  for (let start = 0; start < all.length; start += PAGE) {
    await tx
      .insert(table)
      .values(all.slice(start, start + PAGE))
      .onConflictDoUpdate({
        target: [table.name, table.session_id],
        set: { calls: sql`${table.calls} + excluded.calls`, errors: sql`${table.errors} + excluded.errors` },
      });
  }
}

async function keepLists(app: App, tx: Db, lists: readonly ListRead[], of_list: readonly Stretch[]): Promise<void> {
  for (let start = 0; start < lists.length; start += PAGE) {
    const rows = lists.slice(start, start + PAGE).map(({ timestamp, method, duration_ms }, n) => {
      const session_id = of_list[start + n]?.id ?? 0;
      return { session_id, timestamp: new Date(timestamp).toISOString(), method, duration_ms };
    });
    await tx.insert(app.store.tables.mcp_lists).values(rows);
  }
}

/** Finds the stretch of a moment, which is new after a break. */
function createFind(stretches: Stretch[]) {
  const latest = new Map<string, Stretch>();
  return (key: string, of: CallGroup, at: number): Stretch => {
    const known = latest.get(key);
    if (known !== undefined && (of.session !== undefined || at - known.last_ms <= GAP_MS)) {
      known.started_ms = Math.min(known.started_ms, at);
      known.last_ms = Math.max(known.last_ms, at);
      return known;
    }
    const counts = { lists: 0, calls: 0, errors: 0, rows: 0, tokens: 0, names: new Map() };
    const begun: Stretch = { key, of, started_ms: at, last_ms: at, ...counts, id: 0 };
    stretches.push(begun);
    latest.set(key, begun);
    return begun;
  };
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
function keyOf({
  session,
  client,
  token_prefix,
  caller,
}: Pick<CallGroup, 'session' | 'client' | 'token_prefix' | 'caller'>): string {
  const said = session === undefined ? [client, token_prefix, caller?.person, caller?.token, caller?.client_id] : [session];
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url').slice(0, 22);
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
  const total = (name: (typeof SUMS)[number]) =>
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
    lists: { type: 'integer', cells: total('lists') },
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

const SUMS = ['lists', 'calls', 'errors', 'rows', 'tokens'] as const;
/** In the order of the table, after the id. */
const COLUMNS = [
  ...(['key', 'session', 'client', 'token_prefix', 'person', 'token', 'client_id', 'started_at', 'last_at'] as const),
  ...SUMS,
];

const later = (stored: Schema['mcp_sessions']['last_at']): SQL =>
  sql`case when excluded.last_at > ${stored} then excluded.last_at else ${stored} end`;
