import type { Platform } from '#core/platform/platform.ts';
import { inArray } from 'drizzle-orm';
import { callerName } from '#core/lib/text/caller-name.ts';
import { pagesOf } from '#core/lib/slices.ts';
import { PAGE } from '#core/store/trees.ts';

interface Called {
  readonly token_prefix: string | null;
  readonly caller?: { readonly person: string | null } | undefined;
}

/**
 * Hosts know a signed-in person only by id, and report the id as the name. @returns a function that replaces the id with the
 * current name.
 */
export async function callerNames(app: Platform, called: readonly Called[]): Promise<<T extends Called>(one: T) => T> {
  const { people } = app.store.tables;
  const names = new Map<string, string | null>();
  const ids = new Set(called.filter(isUnnamed).flatMap(({ caller }) => caller?.person ?? []));
  for (const page of pagesOf([...ids], PAGE)) {
    const rows = await app.store.db
      .select({ id: people.id, display_name: people.display_name, username: people.username })
      .from(people)
      .where(inArray(people.id, page));
    for (const { id, display_name, username } of rows) names.set(id, callerName(display_name ?? username));
  }
  return (one) => {
    const name = isUnnamed(one) ? names.get(one.caller?.person ?? '') : undefined;
    return name === undefined ? one : { ...one, token_prefix: name };
  };
}

/** A token contains the name only when a definition reads it. */
const isUnnamed = ({ token_prefix, caller }: Called): boolean =>
  token_prefix !== null && token_prefix === callerName(caller?.person);
