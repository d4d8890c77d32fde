import { holds, type Role, ROLE_CHOICES } from '#core/contract/identity/roles.ts';
import { AppError } from '#core/errors.ts';
import type { Actor } from './context.ts';

/** The role of whoever acts; null for credentials that are no person's. A session that says none may do the least. */
export function roleOf({ type, role }: Actor): Role | null {
  if (type === 'system') return 'owner';
  return role ?? (type === 'admin' ? 'caller' : null);
}

/** Whoever acts, as it is kept beside what they did. */
export const authorOf = (actor: Actor | null): Pick<Actor, 'type' | 'id' | 'name'> => ({
  type: actor?.type ?? 'system',
  id: actor?.id ?? null,
  name: actor?.name ?? 'system',
});

/** Refuses a person whose role is less than `least`. */
export function requireRole(actor: Actor, least: Role | null): void {
  const role = roleOf(actor);
  if (role === null || least === null || holds(role, least)) return;
  const [yours, needed] = [ROLE_CHOICES[role].label, ROLE_CHOICES[least].label];
  throw new AppError(
    'role_required',
    `Your role (${yours}) does not allow this. It requires the role ${needed}. Ask an administrator.`,
  );
}

/** Somebody who signed in with at least this role, or the product itself. Tokens are none, whoever made them. */
export const isPerson = (actor: Actor | null, least: Role): boolean =>
  actor !== null && (actor.type === 'admin' || actor.type === 'system') && holds(roleOf(actor) ?? 'caller', least);

/** Somebody who signed in as an administrator or owner, or the product itself. */
export const isAdministrator = (actor: Actor | null): boolean => isPerson(actor, 'admin');
