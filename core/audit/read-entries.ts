import { and, asc, desc, eq, gt, gte, isNull, lt, or, type SQL, sql } from 'drizzle-orm';
import type { AuditEntry } from '#core/contract/observe/audit.ts';
import type { Input } from '#core/contract/index.ts';
import type { Platform } from '#core/platform/platform.ts';
import { NO_HASH, toEntry } from './chain.ts';

export type AuditFilter = Partial<
  Pick<Input<'audit.list'>, 'kind' | 'actor' | 'entity' | 'tool' | 'unmasked' | 'since' | 'until'>
>;

type Cursor = { readonly after: number } | { readonly before?: number | undefined };

/** Entries with contents, oldest first after a number, else newest first. */
export async function readEntries(app: Platform, filter: AuditFilter, cursor: Cursor, limit: number): Promise<AuditEntry[]> {
  const { audit_entries: entries } = app.store.tables;
  const { db } = app.store;
  const position =
    'after' in cursor ? gt(entries.seq, cursor.after) : cursor.before === undefined ? undefined : lt(entries.seq, cursor.before);
  const where = await matching(app, filter);
  const rows = await db
    .select({ entry: entries, previous: previousOf(app) })
    .from(entries)
    .where(and(position, isNull(entries.pruned_by), where))
    .orderBy('after' in cursor ? asc(entries.seq) : desc(entries.seq))
    .limit(limit);
  const start = rows.some(({ previous }) => previous === null) ? await startHash(app) : NO_HASH;
  return rows.map(({ entry, previous }) => toEntry(entry, previous ?? start));
}

/** The hash of the entry before. */
const previousOf = ({ store }: Platform): SQL<string | null> => {
  const { audit_entries: entries } = store.tables;
  return sql<string | null>`(select before.hash from ${entries} as before where before.seq = ${entries}.seq - 1)`;
};

/** The hash before the oldest entry. */
async function startHash({ store }: Platform): Promise<string> {
  const { audit_heads: heads } = store.tables;
  const [start] = await store.db
    .select({ hash: heads.hash })
    .from(heads)
    .where(eq(heads.type, 'start'))
    .orderBy(desc(heads.seq))
    .limit(1);
  return start?.hash ?? NO_HASH;
}

async function matching(
  app: Platform,
  { kind, actor, entity, tool, unmasked, since, until }: AuditFilter,
): Promise<SQL | undefined> {
  const { audit_entries: entries } = app.store.tables;
  return and(
    kind === undefined ? undefined : eq(entries.kind, kind),
    actor === undefined ? undefined : await isActor(app, actor),
    entity === undefined ? undefined : isEntity(app, entity),
    tool === undefined ? undefined : eq(entries.tool, tool),
    unmasked === undefined ? undefined : and(eq(entries.kind, 'call'), showsUnmasked(entries.detail, unmasked)),
    since === undefined ? undefined : gte(entries.at, since),
    until === undefined ? undefined : lt(entries.at, until),
  );
}

/** Names have an index, which answers quickly whether somebody has this one. */
async function isActor({ store }: Platform, actor: string): Promise<SQL> {
  const { audit_entries: entries } = store.tables;
  const by_name = eq(entries.actor_name, actor);
  const [named] = await store.db.select({ seq: entries.seq }).from(entries).where(by_name).limit(1);
  return named === undefined ? eq(entries.actor_id, actor) : by_name;
}

/** Calls are found by the name of their definition, other entries by name or id of their record: each has an index. */
function isEntity({ store }: Platform, entity: string): SQL | undefined {
  const { audit_entries: entries } = store.tables;
  const no_call = isNull(entries.tool);
  return or(eq(entries.tool, entity), and(no_call, eq(entries.entity_name, entity)), and(no_call, eq(entries.entity_id, entity)));
}

/** `unmasked` is the last member of the canonical detail of a call; `*` in it stands for every column. */
function showsUnmasked(detail: unknown, column: string): SQL | undefined {
  const like = (text: string) => sql`${detail} like ${`%"unmasked":[%${text}%]}`} escape '\\'`;
  if (column === '*') return like('');
  const quoted = JSON.stringify(column.toLowerCase()).replaceAll(/[\\%_]/g, String.raw`\$&`);
  return or(like(quoted), like('"*"'));
}
