import type { Platform } from '#core/platform/platform.ts';
import { and, desc, eq, lt, sql } from 'drizzle-orm';
import { CLIENT_VERSION_DAYS, type ClientVersion } from '#core/contract/observe/client-versions.ts';
import type { CallGroup, ListRead } from '#core/contract/observe/usage-batch.ts';
import type { Handlers } from '#core/context/context.ts';
import { laterOf } from '#core/store/columns.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import type { Cell } from './count-calls.ts';

type Row = Schema['client_versions']['$inferSelect'];

const DAY_MS = 24 * 3_600_000;
/** Anyone can state any name, so only the clients that were seen last are stored. */
const MOST = 1_000;
/** A batch with more clients than this is unusual, and the surplus is deleted at once. */
const USUAL = 20;
/** Later times within this do not change a row: a busy client would be written with every batch. */
const STEP_MS = 60_000;

/** Notes which revisions of the protocol the clients of a batch used. */
export async function noteClientVersions(
  app: Platform,
  tx: Db,
  groups: readonly CallGroup[],
  cells: readonly Cell[],
  lists: readonly ListRead[],
): Promise<void> {
  const seen = new Map<string, { client: string; protocol_version: string; first_ms: number; last_ms: number }>();
  const note = (
    { client, protocol_version }: Pick<CallGroup, 'client' | 'protocol_version'>,
    first_ms: number,
    last_ms: number,
  ) => {
    // Hosts of earlier versions do not report it.
    if (protocol_version === undefined) return;
    const key = JSON.stringify([client, protocol_version]);
    const known = seen.get(key);
    seen.set(key, {
      client: client ?? '',
      protocol_version,
      first_ms: Math.min(known?.first_ms ?? first_ms, first_ms),
      last_ms: Math.max(known?.last_ms ?? last_ms, last_ms),
    });
  };
  for (const { group, first_ms, last_ms } of cells) {
    const of = groups[group];
    if (of !== undefined) note(of, first_ms, last_ms);
  }
  for (const list of lists) note(list, list.timestamp, list.timestamp);
  if (seen.size === 0) return;
  const { client_versions: table } = app.store.tables;
  const rows = [...seen.values()]
    .toSorted((a, b) => b.last_ms - a.last_ms)
    .slice(0, MOST)
    .map(({ first_ms, last_ms, ...row }): Row => ({ ...row, first_at: timeOf(first_ms), last_at: timeOf(last_ms) }));
  await tx
    .insert(table)
    .values(rows)
    .onConflictDoUpdate({
      target: [table.client, table.protocol_version],
      set: { last_at: laterOf(table.last_at) },
      setWhere: lt(table.last_at, timeOf(Math.max(...rows.map(({ last_at }) => Date.parse(last_at))) - STEP_MS)),
    });
  if (rows.length > USUAL) await forgetSurplus(app, tx);
}

const timeOf = (ms: number): string => new Date(ms).toISOString();

/** Deletes clients that were not seen for long, and the oldest beyond the maximum. */
export async function forgetClientVersions(app: Platform): Promise<void> {
  const { client_versions: table } = app.store.tables;
  const before = timeOf(app.clock().getTime() - CLIENT_VERSION_DAYS * DAY_MS);
  await app.store.write(async (tx) => {
    await tx.delete(table).where(lt(table.last_at, before));
    await forgetSurplus(app, tx);
  });
}

async function forgetSurplus(app: Platform, tx: Db): Promise<void> {
  const { client_versions: table } = app.store.tables;
  const [last] = await tx
    .select({ last_at: table.last_at })
    .from(table)
    .orderBy(desc(table.last_at))
    .limit(1)
    .offset(MOST - 1);
  if (last === undefined) return;
  await tx.delete(table).where(lt(table.last_at, last.last_at));
  // Those of one moment can still be too many.
  const rows = await tx.select().from(table).orderBy(desc(table.last_at)).offset(MOST).limit(MOST);
  for (const { client, protocol_version } of rows) {
    await tx.delete(table).where(and(eq(table.client, client), eq(table.protocol_version, protocol_version)));
  }
}

export const clientVersionHandlers: Pick<Handlers, 'clients.versions'> = {
  'clients.versions': async ({ app }, { skip, limit, below }) => {
    const { client_versions: table } = app.store.tables;
    const where = below === undefined ? undefined : lt(table.protocol_version, below);
    const [rows, total] = await Promise.all([
      app.store.db
        .select()
        .from(table)
        .where(where)
        .orderBy(desc(table.last_at), sql`${table.client}`, desc(table.protocol_version))
        .limit(limit)
        .offset(skip),
      app.store.db.$count(table, where),
    ]);
    return { items: rows.map(toClientVersion), total };
  },
};

/** Hosts report name and version in one text; a name can have slashes as well. */
function toClientVersion({ client, ...rest }: Row): ClientVersion {
  const cut = client.lastIndexOf('/');
  const [name, version] = cut < 0 ? [client, ''] : [client.slice(0, cut), client.slice(cut + 1)];
  return { client: name === '' ? null : name, version: version === '' ? null : version, ...rest };
}
