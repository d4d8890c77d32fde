import { createHash } from 'node:crypto';
import { BY_GROUPS, PLAYGROUND_PREFIX, type PlaygroundCaller, verifyPlaygroundToken } from '#core/edge/playground-token.ts';
import { createExpiringMap } from '#core/lib/recent-map.ts';
import { callerName } from '#core/lib/text/caller-name.ts';
import { type Caller, createCaller } from './caller.ts';
import { type Rights, rightsOf, rightsOfPerson, type ToolsetAccess } from './rights.ts';
import { INVALID, type Refusal, type RequestOrigin } from './scheme.ts';

/** Administrators who call from the server's playground, whatever `auth_type` requires of other callers. */
export interface Playground {
  /** Accepts the token only in a request that the server forwards. */
  check(token: string, from: RequestOrigin): Promise<Caller | Refusal>;
  /** Whether an admitted caller would still be admitted now. */
  holds(owner: string): boolean;
  /** The caller, if it would still be admitted now. */
  readmit(owner: string): Caller | null;
  /** What an admitted caller may see now. */
  rights(owner: string): Rights | null;
}

const OWNER = 'playground:';
const SESSIONS = 1_000;

/**
 * @param keys `SVC_ENCRYPTION_KEY`, which the server signs with.
 * @param toolsets the deployed toolsets.
 */
export function createPlayground(
  keys: readonly string[],
  now: () => number,
  toolsets: () => readonly ToolsetAccess[],
): Playground {
  const owners = createExpiringMap<{ readonly caller: PlaygroundCaller; readonly username: string }>(now, SESSIONS);
  const rightsOfCaller = ({ identity, toolsets: granted }: PlaygroundCaller): Rights =>
    granted === BY_GROUPS ? rightsOfPerson(toolsets(), identity.groups, []) : rightsOf(granted);
  const toCaller = (
    owner: string,
    { caller, username }: { readonly caller: PlaygroundCaller; readonly username: string },
  ): Caller => createCaller(owner, callerName(`${OWNER}${username}`), rightsOfCaller(caller), caller.claims, caller.identity);
  return {
    async check(token, { ours }) {
      if (!ours()) return INVALID;
      const claims = await verifyPlaygroundToken(keys, token, new Date(now()));
      if (claims === null) return INVALID;
      // A session belongs to the caller that was impersonated when it was opened.
      const caller_digest = createHash('sha256').update(JSON.stringify(claims.caller)).digest('base64url').slice(0, 16);
      const owner = `${OWNER}${claims.session_id}:${caller_digest}`;
      owners.set(owner, claims, Math.max(claims.ends, owners.until(owner)));
      return toCaller(owner, claims);
    },
    holds: (owner) => owners.get(owner) !== undefined,
    readmit(owner) {
      const known = owners.get(owner);
      return known === undefined ? null : toCaller(owner, known);
    },
    rights(owner) {
      const known = owners.get(owner);
      return known === undefined ? null : rightsOfCaller(known.caller);
    },
  };
}

export const isPlaygroundToken = (token: string): boolean => token.startsWith(PLAYGROUND_PREFIX);
export const isPlaygroundOwner = (owner: string): boolean => owner.startsWith(OWNER);
