import { and, desc, eq, ne } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { AppError } from '#core/errors.ts';
import type { EntityType } from '#core/contract/history.ts';

/** A change that was made on another version than the stored one. */
export class StaleVersion extends AppError {
  readonly entity_type: EntityType;
  readonly entity_id: string;
  readonly rest: string;

  constructor(entity_type: EntityType, entity_id: string, label: string, stored: number) {
    const rest = `it is now at version ${stored}. Read it again and repeat your change.`;
    super('conflict', `Someone else changed this ${label}; ${rest}`);
    this.entity_type = entity_type;
    this.entity_id = entity_id;
    this.rest = rest;
  }
}

interface Stored {
  /** Absent: there is one of its type. */
  readonly id?: string;
  readonly version: number;
}

/** Refuses a change that was made on another version than the stored one. @param label as a sentence names it. */
export function checkVersion(
  type: EntityType,
  { id = type, version }: Stored,
  expected: number | undefined,
  label: string = type.replaceAll('_', ' '),
): void {
  if (expected !== undefined && expected !== version) throw new StaleVersion(type, id, label, version);
}

/** The same refusal, with who changed the record and what it is called, when the history knows. */
export async function withAuthor({ store }: App, stale: StaleVersion): Promise<AppError> {
  const { history } = store.tables;
  const { entity_type, entity_id, rest } = stale;
  const [last] = await store.db
    .select({ by: history.actor_name, name: history.entity_name })
    .from(history)
    .where(and(eq(history.entity_type, entity_type), eq(history.entity_id, entity_id), ne(history.action, 'blocked')))
    .orderBy(desc(history.id))
    .limit(1);
  return last === undefined
    ? stale
    : new AppError('conflict', `${last.by} changed ${last.name} in the meantime; ${rest}`, { cause: stale });
}
