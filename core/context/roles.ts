import { holds, type Role, ROLE_CHOICES } from '#core/contract/roles.ts';
import { AppError } from '#core/errors.ts';
import type { Actor } from './context.ts';

/** The role of an actor; null for tokens and clients. A session without a role has the lowest one. */
export function roleOf({ type, role }: Actor): Role | null {
  if (type === 'system') return 'owner';
  return role ?? (type === 'admin' ? 'caller' : null);
}

/** The actor in the form that is stored with its changes. */
export const authorOf = (actor: Actor | null): Pick<Actor, 'type' | 'id' | 'name'> => ({
  type: actor?.type ?? 'system',
  id: actor?.id ?? null,
  name: actor?.name ?? 'system',
});

/** Throws `role_required` for a person with a lower role than `least`. */
export function requireRole(actor: Actor, least: Role | null): void {
  const role = roleOf(actor);
  if (role === null || least === null || holds(role, least)) return;
  const [yours, needed] = [ROLE_CHOICES[role].label, ROLE_CHOICES[least].label];
  throw new AppError(
    'role_required',
    `Your role (${yours}) does not allow this. It requires the role ${needed}. Ask an administrator.`,
  );
}

/** Whether the actor is a signed-in person with at least this role, or Sluice. A person's tokens do not count. */
export const isPerson = (actor: Actor | null, least: Role): boolean =>
  actor !== null && (actor.type === 'admin' || actor.type === 'system') && holds(roleOf(actor) ?? 'caller', least);

/** Whether the actor is a signed-in administrator or owner, or Sluice. */
export const isAdministrator = (actor: Actor | null): boolean => isPerson(actor, 'admin');
