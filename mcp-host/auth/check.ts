import type { Log } from '#core/process/log.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { type Attempts, tooMany } from './attempts.ts';
import type { Caller } from './caller.ts';
import { type Credential, isCaller, type Refusal, type RequestOrigin, type Scheme } from './scheme.ts';

/** Checks a credential that its scheme does not remember. */
export type Check = (
  scheme: Scheme,
  credential: Credential,
  server: FrozenServer,
  from: RequestOrigin,
) => Promise<Caller | Refusal>;

/** Requests that arrive together with the same credential count as one attempt. */
export function createCheck(attempts: Attempts, log: Log): Check {
  const running = new Map<string, { readonly server: FrozenServer; readonly verdict: Promise<Caller | Refusal> }>();

  const checkOnce = async (scheme: Scheme, credential: Credential, server: FrozenServer, address: string) => {
    const refused = scheme.costly ? await attempts.enter(address) : null;
    if (refused !== null) return refused;
    try {
      const verdict = await scheme.check(credential, server);
      if (isCaller(verdict) || verdict.status !== 401) return verdict;
      const blocked = scheme.costly ? 0 : attempts.blocked(address);
      attempts.note(address);
      return blocked > 0 ? tooMany(blocked) : verdict;
    } finally {
      if (scheme.costly) attempts.leave(address);
    }
  };
  return (scheme, credential, server, { address, request_id }) => {
    // A token may be valid at one address only.
    const key = `${credential.digest} ${credential.path}`;
    const before = running.get(key);
    if (before?.server === server) return before.verdict;
    const verdict = log
      .during({ request_id }, () => checkOnce(scheme, credential, server, address()))
      .finally(() => {
        if (running.get(key)?.verdict === verdict) running.delete(key);
      });
    running.set(key, { server, verdict });
    return verdict;
  };
}
