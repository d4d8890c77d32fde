import { decodeJwt, type CompactJWSHeaderParameters, type JWTPayload } from 'jose';
import { type CheckedToken, checkToken, type TokenRules } from '#core/edge/token-checks.ts';
import { createExpiringMap } from '#core/lib/recent-map.ts';
import type { Log } from '#core/process/log.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import type { Admission, Caller } from '../caller.ts';
import type { ToolsetAccess } from '../rights.ts';
import { KeysUnavailable } from './foreign-keys.ts';
import { type Credential, INVALID, type Passport, type Refusal, type Scheme } from '../scheme.ts';

/** A token whose signature and claims were verified. */
export interface VerifiedToken {
  readonly payload: JWTPayload;
  readonly header: CompactJWSHeaderParameters;
}

/** The rules and callers of an `auth_type` whose tokens the host verifies without another program. */
export interface TokenSource {
  /** The rules for a token of this issuer at this path; null: no token of this issuer is accepted. */
  rulesOf(issuer: string, server: FrozenServer, path: string): TokenRules | null;
  /** Whether a verified token would still be accepted, apart from its expiry. */
  counts(token: VerifiedToken, server: FrozenServer): boolean;
  /** Changes whenever `counts` may return something else for the same server. */
  edition(): number;
  /** The caller, with the rights that these toolsets give it. */
  toCaller(token: VerifiedToken, server: FrozenServer, toolsets: readonly ToolsetAccess[]): Caller;
}

/** A token that admitted an owner. */
interface Shown {
  readonly token: VerifiedToken;
  /** Undefined: tokens of this source have no grant. */
  readonly grant: string | undefined;
}

interface Known {
  readonly token: VerifiedToken;
  readonly server: FrozenServer;
  readonly path: string;
  edition: number;
  /** The toolsets from which the caller's rights were computed. */
  toolsets: readonly ToolsetAccess[];
  caller: Caller;
}

const UNKNOWN_KEYS: Refusal = {
  status: 503,
  message: 'The access token cannot be checked because the keys of its issuer could not be read yet. Try again in a moment.',
  retry_after: 5,
};
const TOKENS = 10_000;
/**
 * Most tokens of one owner that continue its sessions and streams: the newest of each grant; without grants, also tokens before a
 * refresh.
 */
const GRANTS_EACH = 200;
const TOKENS_EACH = 20;

/** Remembers tokens by digest until they expire, so that a call with a known token does not wait. */
export function createSignedScheme(
  source: TokenSource,
  { now, log, toolsets }: { readonly now: () => number; readonly log: Log; readonly toolsets: () => readonly ToolsetAccess[] },
): Pick<Scheme, 'costly' | 'recall' | 'check' | 'holds' | 'rights' | 'passport' | 'readmit'> {
  const known = createExpiringMap<Known>(now, TOKENS);
  /** Sessions and streams outlive a token if their owner has a newer one. */
  const owners = createExpiringMap<readonly Shown[]>(now, TOKENS);

  const remember = (caller: Caller, token: VerifiedToken) => {
    const { owner, grant } = caller;
    const isRenewed = (old: Shown): boolean => grant !== undefined && old.grant === grant && endOf(old.token) <= endOf(token);
    const before = (owners.get(owner) ?? []).filter((old) => isLive(old.token) && !isRenewed(old));
    const shown = [...before, { token, grant }].slice(grant === undefined ? -TOKENS_EACH : -GRANTS_EACH);
    owners.set(owner, shown, Math.max(...shown.map((one) => endOf(one.token))));
  };
  /** The newest live token of an owner, of one grant if the admission names one. */
  const liveToken = ({ owner, grant }: Admission, server: FrozenServer): VerifiedToken | undefined =>
    owners
      .get(owner)
      ?.findLast((one) => (grant === undefined || one.grant === grant) && isLive(one.token) && source.counts(one.token, server))
      ?.token;
  const isLive = (token: VerifiedToken): boolean => endOf(token) > now();

  const check = async ({ token, digest, path }: Credential, server: FrozenServer): Promise<Caller | Refusal> => {
    const rules = source.rulesOf(issuerOf(token), server, path);
    if (rules === null) return INVALID;
    const edition = source.edition();
    let checked: CheckedToken;
    try {
      checked = await checkToken(token, rules, now());
    } catch (error) {
      if (error instanceof KeysUnavailable) return UNKNOWN_KEYS;
      throw error;
    }
    if ('failed' in checked) {
      log.debug('token_refused', { check: checked.failed, reason: checked.reason });
      return INVALID;
    }
    // The token may have been ended while its signature was verified.
    if (!source.counts(checked, server)) return INVALID;
    const deployed = toolsets();
    const caller = source.toCaller(checked, server, deployed);
    known.set(digest, { token: checked, server, path, caller, toolsets: deployed, edition }, endOf(checked));
    remember(caller, checked);
    return caller;
  };

  return {
    costly: false,
    recall({ digest, path }, server) {
      const entry = known.get(digest);
      if (entry === undefined || entry.server !== server || entry.path !== path) return null;
      const edition = source.edition();
      if (entry.edition !== edition) {
        if (!source.counts(entry.token, server)) {
          known.delete(digest);
          return null;
        }
        entry.edition = edition;
      }
      const deployed = toolsets();
      if (entry.toolsets !== deployed) {
        entry.caller = source.toCaller(entry.token, server, deployed);
        entry.toolsets = deployed;
      }
      return entry.caller;
    },
    check,
    holds: (admitted, server) => liveToken(admitted, server) !== undefined,
    rights(admitted, server) {
      const token = liveToken(admitted, server);
      return token === undefined ? null : source.toCaller(token, server, toolsets()).rights;
    },
    passport(admitted, server) {
      const token = liveToken(admitted, server);
      return token === undefined ? null : { payload: token.payload, header: token.header };
    },
    readmit(admitted, server, passport) {
      const token = liveToken(admitted, server) ?? verifiedIn(passport);
      if (token === null || !isLive(token) || !source.counts(token, server)) return null;
      const caller = source.toCaller(token, server, toolsets());
      return caller.owner === admitted.owner ? caller : null;
    },
  };
}

/** The token that another host verified. Every host seals and opens passports with the same key, so it has this form. */
const verifiedIn = (passport: Passport | null): VerifiedToken | null => passport as VerifiedToken | null;

/** In ms since 1970; a token without `exp` is refused. */
const endOf = ({ payload }: VerifiedToken): number => (payload.exp ?? 0) * 1_000;

function issuerOf(token: string): string {
  try {
    return decodeJwt(token).iss ?? '';
  } catch {
    return '';
  }
}
