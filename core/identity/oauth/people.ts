import { eq, inArray } from 'drizzle-orm';
import type { App } from '#core/platform/platform.ts';
import { holds, type Role } from '#core/contract/identity/roles.ts';
import { leastRole, type Scope } from '#core/contract/operation.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';

/** Who signed in, as tokens and grants need to know them. */
export interface Person {
  readonly id: string;
  readonly username: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly role: Role;
  readonly groups: readonly string[];
  /** What their role lets them do through the agent endpoint. */
  readonly scopes: readonly Scope[];
}

const SCOPES: readonly Scope[] = ['read', 'write', 'deploy', 'propose'];

/** A person who may sign in now; null when the account is gone or disabled. */
export async function personOf({ store }: App, id: string): Promise<Person | null> {
  const { people } = store.tables;
  const [row] = await store.db.select().from(people).where(eq(people.id, id));
  return toPerson(row);
}

/** The same, as they stay until the end of this transaction: whoever changes them waits for it, or was waited for. */
export async function heldPerson({ store }: App, tx: Db, id: string): Promise<Person | null> {
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

export async function usernamesOf({ store }: App, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const { people } = store.tables;
  const rows = await store.db
    .select({ id: people.id, username: people.username })
    .from(people)
    .where(inArray(people.id, [...ids]));
  return new Map(rows.map(({ id, username }) => [id, username]));
}
