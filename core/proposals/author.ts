import { eq } from 'drizzle-orm';
import type { ProposalAuthor } from '#core/contract/proposals.ts';
import type { Actor } from '#core/context/context.ts';
import type { Platform } from '#core/platform/platform.ts';

/** The author of a proposal as the actor of its trial runs: a token that proposes, or a person with the role that they have now. */
export async function actorOf({ store }: Pick<Platform, 'store'>, author: ProposalAuthor): Promise<Actor> {
  if (author.type !== 'admin') return { ...author, scopes: ['propose'] };
  const { people } = store.tables;
  const [person] = await store.db
    .select({ role: people.role, enabled: people.enabled })
    .from(people)
    .where(eq(people.id, author.id ?? ''));
  return { ...author, scopes: ['read', 'write'], role: person?.enabled === true ? person.role : 'caller' };
}
