import type { CallGroup, ListRead } from '#core/contract/observe/usage-batch.ts';
import { createHash } from 'node:crypto';
import type { Platform } from '#core/platform/platform.ts';
import type { Db } from '#core/store/store.ts';
import { type Cell, errorsOf } from '#core/observe/count-calls.ts';
import { sql, and, gte, inArray, or } from 'drizzle-orm';
import { pagesOf } from '#core/lib/slices.ts';
import type { Schema } from '#core/store/schema.ts';
import { laterOf, rowsOf } from '#core/store/columns.ts';

type Caller = Pick<CallGroup, 'client' | 'token_prefix' | 'caller'>;

/** Identifies a caller by the client and its credential. */
export const callerKey = ({ client, token_prefix, caller }: Caller): string =>
  digestOf([client, token_prefix, caller?.person, caller?.token, caller?.client_id]);

/** Identifies a session by its id in the protocol, or by its caller. */
const sessionKey = ({ session, ...caller }: Caller & Pick<CallGroup, 'session'>): string =>
  session === undefined ? callerKey(caller) : digestOf([session]);

const digestOf = (parts: readonly (string | null | undefined)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);

/** Calls of a caller without sessions count as one session until a pause of this length. */
const GAP_MS = 30 * 60_000;

/** Keys per statement. */
const PAGE = 500;

/** Calls of one client in a batch, without a long pause. */
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
  /** By the name of the definition. */
  readonly names: Map<string, { calls: number; errors: number }>;
  /** Id of the stored session, once it is stored. */
  id: number;
}

/** Adds calls and lists to their sessions, and stores the lists. @returns the session id for each cell. */
export async function addToSessions(
  app: Platform,
  tx: Db,
  groups: readonly CallGroup[],
  cells: readonly Cell[],
  lists: readonly ListRead[],
): Promise<number[]> {
  const stretches: Stretch[] = [];
  const find = createFind(stretches);
  const keys = groups.map(sessionKey);
  const of_cell = cells.map((cell) => {
    const group = groups[cell.group] ?? NO_GROUP;
    const stretch = find(keys[cell.group] ?? '', group, cell.first_ms, cell.last_ms);
    addCell(stretch, group.name, cell);
    return stretch;
  });
  const of_list = lists.map((list) => {
    const stretch = find(sessionKey(list), { ...NO_GROUP, ...list }, list.timestamp, list.timestamp);
    stretch.lists += 1;
    return stretch;
  });
  const stored = await latestOf(app, tx, stretches);
  for (const stretch of stretches) {
    const known = stored.get(stretch.key);
    if (known === undefined) continue;
    // A session of the protocol is one session, however long it paused.
    if (stretch.of.session === undefined && stretch.started_ms - Date.parse(known.last_at) > GAP_MS) continue;
    stretch.started_ms = Date.parse(known.started_at);
  }
  await write(app, tx, mergeSame(stretches));
  await keepNames(app, tx, stretches);
  await keepLists(app, tx, lists, of_list);
  return of_cell.map(({ id }) => id);
}

function addCell(stretch: Stretch, name: string, cell: Cell): void {
  const { calls, rows, tokens } = cell;
  const errors = errorsOf(cell);
  const named = stretch.names.get(name) ?? { calls: 0, errors: 0 };
  stretch.names.set(name, { calls: named.calls + calls, errors: named.errors + errors });
  stretch.calls += calls;
  stretch.errors += errors;
  stretch.rows += rows;
  stretch.tokens += tokens;
}

async function keepNames(app: Platform, tx: Db, stretches: readonly Stretch[]): Promise<void> {
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
  for (const page of pagesOf(all, PAGE)) {
    await tx
      .insert(table)
      .values(page)
      .onConflictDoUpdate({
        target: [table.name, table.session_id],
        set: { calls: sql`${table.calls} + excluded.calls`, errors: sql`${table.errors} + excluded.errors` },
      });
  }
}

async function keepLists(app: Platform, tx: Db, lists: readonly ListRead[], of_list: readonly Stretch[]): Promise<void> {
  for (let start = 0; start < lists.length; start += PAGE) {
    const rows = lists.slice(start, start + PAGE).map(({ timestamp, method, duration_ms }, n) => {
      const session_id = of_list[start + n]?.id ?? 0;
      return { session_id, timestamp: new Date(timestamp).toISOString(), method, duration_ms };
    });
    await tx.insert(app.store.tables.mcp_lists).values(rows);
  }
}

/** Finds the stretch for a time. After a pause, a new one begins. */
function createFind(stretches: Stretch[]) {
  const latest = new Map<string, Stretch>();
  return (key: string, of: CallGroup, first_ms: number, last_ms: number): Stretch => {
    const known = latest.get(key);
    if (known !== undefined && (of.session !== undefined || first_ms - known.last_ms <= GAP_MS)) {
      known.started_ms = Math.min(known.started_ms, first_ms);
      known.last_ms = Math.max(known.last_ms, last_ms);
      return known;
    }
    const counts = { lists: 0, calls: 0, errors: 0, rows: 0, tokens: 0, names: new Map() };
    const begun: Stretch = { key, of, started_ms: first_ms, last_ms, ...counts, id: 0 };
    stretches.push(begun);
    latest.set(key, begun);
    return begun;
  };
}

const NO_GROUP: CallGroup = {
  kind: 'tool',
  name: '',
  entity_id: null,
  connection_id: null,
  snapshot_version: null,
  client: null,
  token_prefix: null,
};

type StoredSession = Pick<Schema['mcp_sessions']['$inferSelect'], 'key' | 'started_at' | 'last_at'>;

/** The latest session of each key, if it may still continue. */
async function latestOf(app: Platform, tx: Db, stretches: readonly Stretch[]): Promise<Map<string, StoredSession>> {
  const { mcp_sessions: table } = app.store.tables;
  const found = new Map<string, StoredSession>();
  const since = new Date(stretches.reduce((least, { started_ms }) => Math.min(least, started_ms), Infinity) - GAP_MS);
  const keys = [...new Set(stretches.map(({ key }) => key))];
  const with_session = new Set(stretches.filter(({ of }) => of.session !== undefined).map(({ key }) => key));
  for (const page of pagesOf(keys, PAGE)) {
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

/** Two stretches of a batch may continue the same stored session, and a statement can write each row only once. */
function mergeSame(stretches: readonly Stretch[]): Stretch[][] {
  return [...Map.groupBy(stretches, ({ key, started_ms }) => `${key} ${started_ms}`).values()];
}

async function write(app: Platform, tx: Db, merged: readonly Stretch[][]): Promise<void> {
  const { mcp_sessions: table } = app.store.tables;
  const first = merged.flatMap(([one]) => one ?? []);
  const total = (name: (typeof SUMS)[number]) =>
    merged.map((stretches) => stretches.reduce((sum, stretch) => sum + stretch[name], 0));
  const added = rowsOf(app.store.dialect, 'added', {
    key: { type: 'text', cells: first.map(({ key }) => key) },
    session: { type: 'text', cells: first.map(({ of }) => of.session ?? null) },
    ...callerColumns(first.map(({ of }) => of)),
    started_at: { type: 'time', cells: first.map(({ started_ms }) => started_ms) },
    last_at: { type: 'time', cells: merged.map((stretches) => Math.max(...stretches.map(({ last_ms }) => last_ms))) },
    lists: { type: 'integer', cells: total('lists') },
    calls: { type: 'integer', cells: total('calls') },
    errors: { type: 'integer', cells: total('errors') },
    rows: { type: 'real', cells: total('rows') },
    tokens: { type: 'real', cells: total('tokens') },
  });
  // An existing session keeps its id, as callers do.
  const id = app.store.dialect === 'sqlite' ? 'null' : `coalesce(${STORED_ID}, nextval('mcp_sessions_id_seq'))`;
  const stored = await tx
    .insert(table)
    .select(sql`with recursive ${added} select ${sql.raw(`${id}, ${COLUMNS.join(', ')}`)} from added where true`)
    .onConflictDoUpdate({
      target: [table.key, table.started_at],
      set: {
        ...Object.fromEntries(SUMS.map((name) => [name, sql`${table[name]} + excluded.${sql.identifier(name)}`])),
        last_at: laterOf(table.last_at),
      },
    })
    .returning({ id: table.id, key: table.key, started_at: table.started_at });
  const ids = new Map(stored.map(({ id: stored_id, key, started_at }) => [`${key} ${Date.parse(started_at)}`, stored_id]));
  for (const stretch of merged.flat()) stretch.id = ids.get(`${stretch.key} ${stretch.started_ms}`) ?? 0;
}

const STORED_ID =
  '(select stored.id from mcp_sessions as stored where stored.key = added.key and stored.started_at = added.started_at)';

const SUMS = ['lists', 'calls', 'errors', 'rows', 'tokens'] as const;

/** In the column order of the table, after the id. */
const COLUMNS = [
  ...(['key', 'session', 'client', 'token_prefix', 'person', 'token', 'client_id', 'started_at', 'last_at'] as const),
  ...SUMS,
];

/** The columns that identify the caller, for each of these groups. */
export function callerColumns(groups: readonly CallGroup[]) {
  const text = (read: (group: CallGroup) => string | null | undefined) =>
    ({ type: 'text', cells: groups.map((group) => read(group) ?? null) }) as const;
  return {
    client: text(({ client }) => client),
    token_prefix: text(({ token_prefix }) => token_prefix),
    person: text(({ caller }) => caller?.person),
    token: text(({ caller }) => caller?.token),
    client_id: text(({ caller }) => caller?.client_id),
  };
}
