import { leastRole, type Operation, type Scope } from '#core/contract/operation.ts';
import { AppError } from '#core/errors.ts';
import { requireRole } from './roles.ts';
import type { Actor } from './context.ts';

/** The scope `propose` includes reading and writing, because its writes become proposals. */
const allows = (scopes: readonly Scope[], access: Exclude<Scope, 'propose'>): boolean =>
  scopes.includes(access) || (access !== 'deploy' && scopes.includes('propose'));

/** Throws if the actor is not allowed to call the operation. */
export function authorise(definition: Operation, actor: Actor | null): void {
  const { access } = definition;
  if (access === 'public') return;
  if (actor === null) throw new AppError('unauthenticated', 'Sign in first. This request has no valid session or token.');
  const in_session = actor.type === 'admin' || actor.type === 'system';
  if (access === 'session' && !in_session) {
    throw new AppError('admin_only', 'Only a signed-in person can do this, not a token.');
  }
  if (access !== 'session' && !in_session && !allows(actor.scopes, access)) {
    const proposes = actor.scopes.includes('propose') ? ' It can propose changes, which a person approves and deploys.' : '';
    throw new AppError('insufficient_scope', `This token lacks the scope ${access}.${proposes}`);
  }
  requireRole(actor, leastRole(definition));
}
