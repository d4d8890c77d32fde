import type { SideSnapshot } from '#core/contract/deploy/control.ts';
import { isSameSecret } from '#core/edge/service-token.ts';
import { NO_CLAIMS, toIdentity } from '#core/query/identity.ts';
import { refuse } from '#mcp-host/protocol/replies.ts';
import { sha256 } from '#mcp-host/runtime/runtime.ts';
import { type Attempts, tooMany } from './attempts.ts';
import { type Caller, createCaller } from './caller.ts';
import { FULL_RIGHTS } from './rights.ts';

/** A candidate with its token. */
interface Candidate {
  readonly entry: Pick<SideSnapshot, 'digest' | 'token_prefix' | 'expires_at' | 'reads_only'>;
}

/** Authenticates callers of candidates by the tokens of candidates, whatever credentials the live version requires. */
export interface CandidateAuth {
  /** Returns the caller or the refusal. A missing and an expired candidate get the same refusal. */
  authenticate(request: Request, id: string, address: () => string): Caller | Response;
  /** Whether the token of a candidate calls only tools that read. */
  readsOnly(id: string): boolean;
  /** Whether an admitted caller would still be admitted now. */
  holds(owner: string): boolean;
}

const OWNER = 'candidate:';
export const isCandidateOwner = (owner: string): boolean => owner.startsWith(OWNER);

export function createCandidateAuth(
  find: (id: string) => Candidate | null,
  attempts: Pick<Attempts, 'blocked' | 'note'>,
  now: () => number,
): CandidateAuth {
  const digestAt = (id: string): Candidate | null => {
    const held = find(id);
    const expires_at = held?.entry.expires_at ?? null;
    return held !== null && expires_at !== null && Date.parse(expires_at) > now() ? held : null;
  };
  return {
    authenticate(request, id, address) {
      const held = digestAt(id);
      const digest = held?.entry.digest ?? null;
      if (held === null || digest === null) return refuse(404, NOT_THERE);
      const token = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(request.headers.get('authorization')?.trim() ?? '')?.[1];
      if (token === undefined) return refuse(401, NEEDS_TOKEN, { 'www-authenticate': 'Bearer' });
      if (!isSameSecret(sha256(token), digest)) {
        const blocked = attempts.blocked(address());
        attempts.note(address());
        if (blocked === 0) return refuse(401, NEEDS_TOKEN, { 'www-authenticate': 'Bearer error="invalid_token"' });
        const { status, message } = tooMany(blocked);
        return refuse(status, message, { 'retry-after': String(blocked) });
      }
      const identity = toIdentity(NO_CLAIMS, { sub: `${OWNER}${id}`, token: 'candidate' });
      return createCaller(`${OWNER}${id}`, held.entry.token_prefix, FULL_RIGHTS, NO_CLAIMS, identity);
    },
    readsOnly: (id) => find(id)?.entry.reads_only ?? false,
    holds: (owner) => digestAt(owner.slice(OWNER.length)) !== null,
  };
}

/** The same text as for an address that serves nothing. */
const NOT_THERE = 'There is no toolset at this address, or you cannot use it.';
const NEEDS_TOKEN = 'Unauthorized: this candidate needs its own token, which was shown when it was created.';
