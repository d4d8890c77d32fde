import type { Platform } from '#core/platform/platform.ts';
import { type Role, holds } from '#core/contract/roles.ts';
import { type Scope, leastRole } from '#core/contract/operation.ts';
import { eq, inArray } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';

/** A signed-in person, with what tokens and grants contain. */
export interface Person {
  readonly id: string;
  readonly username: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly role: Role;
  readonly groups: readonly string[];
  /** The scopes at the agent endpoint that the person's role allows. */
  readonly scopes: readonly Scope[];
}

const SCOPES: readonly Scope[] = ['read', 'write', 'deploy', 'propose'];

/** A person who may sign in now. Null when the account is deleted or disabled. */
export async function personOf({ store }: Platform, id: string): Promise<Person | null> {
  const { people } = store.tables;
  const [row] = await store.db.select().from(people).where(eq(people.id, id));
  return toPerson(row);
}

/** Like `personOf`, and locks the row: other changes of the person wait until this transaction ends. */
export async function lockPerson({ store }: Platform, tx: Db, id: string): Promise<Person | null> {
  const { people } = store.tables;
  const [row] = await tx.update(people).set({ id }).where(eq(people.id, id)).returning();
  return toPerson(row);
}

function toPerson(row: Schema['people']['$inferSelect'] | undefined): Person | null {
  if (row === undefined || !row.enabled) return null;
  const { username, display_name: name, email, role, groups } = row;
  const scopes = SCOPES.filter((scope) => holds(role, leastRole({ access: scope === 'propose' ? 'write' : scope }) ?? 'caller'));
  return { id: row.id, username, name, email, role, groups, scopes };
}

export async function usernamesOf({ store }: Platform, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const { people } = store.tables;
  const rows = await store.db
    .select({ id: people.id, username: people.username })
    .from(people)
    .where(inArray(people.id, [...ids]));
  return new Map(rows.map(({ id, username }) => [id, username]));
}

/**
 * Sorts groups that a toolset or a mask names, or that are `required`, to the front. These have an effect and must not be cut
 * off.
 */
export async function namedFirst(
  { store }: Platform,
  groups: readonly string[],
  required: readonly string[] = [],
): Promise<string[]> {
  const { toolsets, tools, resources } = store.tables;
  const [open, ...masked] = await Promise.all([
    store.db.select({ groups: toolsets.groups }).from(toolsets),
    store.db.select({ masks: tools.masks }).from(tools),
    store.db.select({ masks: resources.masks }).from(resources),
  ]);
  const of_masks = masked.flat().flatMap(({ masks }) => masks.flatMap(({ unless_groups }) => unless_groups));
  const named = new Set([...required, ...open.flatMap((toolset) => toolset.groups), ...of_masks]);
  return [...groups.filter((group) => named.has(group)), ...groups.filter((group) => !named.has(group))];
}
