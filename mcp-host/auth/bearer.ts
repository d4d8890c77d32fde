import type { LiveToken } from '#core/contract/deploy/control.ts';
import { type Scheme, type Credential, INVALID, type Refusal } from './scheme.ts';
import type { Log } from '#core/process/log.ts';
import type { TokenFile, TokenList } from './list-file.ts';
import { type Caller, TOKEN_OWNER as OWNER, createCaller, type Admission } from './caller.ts';
import { type Claims, NO_CLAIMS, toIdentity } from '#core/query/identity.ts';
import { rightsOf } from './rights.ts';
import { verifyPassword } from '#mcp-host/runtime/runtime.ts';

const TOKEN_PREFIX = 'svc_mcp_';

/** A use of a token on its way to the server. */
export interface TokenUse {
  readonly id: string;
  readonly last_used_at: string;
}

/** Access tokens of `auth_type` bearer (contract section 8): the server's live list, kept on disk, checked here alone. */
export interface Bearer extends Scheme {
  /** Takes what is on disk. */
  load(): Promise<void>;
  /** The list from now on. */
  use(tokens: readonly LiveToken[]): Promise<void>;
  /** Uses to report now: the first of a token at once, then every 10 s at most. */
  takeUses(): TokenUse[];
  /** Keeps on disk what is not there yet: uses, so that a host that starts without its server does not think tokens idle, and lists. */
  keep(): Promise<void>;
  /** When the server sent the list; null before the first one. */
  as_of(): string | null;
  /** Another number with every list. */
  edition(): number;
}

export interface BearerOptions {
  readonly file: TokenFile;
  /** Opens a bcrypt hash sealed at `mcp_token/<id>/secret_hash`. */
  readonly openSecret: (sealed: string, place: string) => string;
  readonly log: Log;
  readonly now: () => number;
}

interface Entry {
  readonly token: LiveToken;
  readonly caller: Caller;
  /** ms; on this host or, as far as the server knows, on another. */
  used_at: number;
  reported_at: number;
  unreported: boolean;
}

const REPORT_MS = 10_000;

/** Of one batch (contract of the usage report). */
const USES_AT_ONCE = 1_000;

export const isTokenOwner = (owner: string): boolean => owner.startsWith(OWNER);

/** @param token an older server sends it without toolsets and claims. */
function toCaller(token: LiveToken): Caller {
  const { id, name, token_prefix } = token;
  const { toolsets = null } = token as Partial<LiveToken>;
  // It came as JSON.
  const claims = ((token as Partial<LiveToken>).claims ?? NO_CLAIMS) as Claims;
  const identity = toIdentity(claims, { sub: `token:${name}`, token: name });
  return createCaller(`${OWNER}${id}`, token_prefix, rightsOf(toolsets), claims, identity);
}

export function createBearer({ file, openSecret, log, now }: BearerOptions): Bearer {
  let list: TokenList | null = null;
  let edition = 0;
  let by_digest = new Map<string, Entry>();
  let by_id = new Map<string, Entry>();
  /** Revoked ones, for those who still send them. */
  let revoked = new Map<string, LiveToken>();
  /** What is on disk is older. */
  let unsaved = false;
  /**
   * Digest to the sealed hash that it was verified against, for as long as the list holds both: what was true of them stays true, and
   * whether the token counts is looked up at every call.
   */
  const verified = new Map<string, string>();

  const isLive = ({ token: { revoked, idle_timeout_minutes }, used_at }: Entry): boolean =>
    !revoked && (idle_timeout_minutes === null || now() - used_at <= idle_timeout_minutes * 60_000);

  const take = (next: TokenList) => {
    const before = by_id;
    list = next;
    edition++;
    by_digest = new Map();
    by_id = new Map();
    revoked = new Map();
    for (const token of next.tokens) {
      const known = before.get(token.id);
      const used_at = Math.min(now(), Math.max(Date.parse(token.last_used_at ?? token.created_at), known?.used_at ?? 0));
      const caller = toCaller(token);
      const entry = { reported_at: known?.reported_at ?? 0, unreported: known?.unreported ?? false, token, caller, used_at };
      by_id.set(token.id, entry);
      if (token.revoked) revoked.set(token.digest, token);
      else by_digest.set(token.digest, entry);
    }
    for (const [digest, sealed] of verified) {
      if (by_digest.get(digest)?.token.secret_hash.$sealed !== sealed) verified.delete(digest);
    }
  };

  const liveEntry = ({ digest }: Credential): Entry | null => {
    const entry = by_digest.get(digest);
    return entry !== undefined && isLive(entry) ? entry : null;
  };
  /** Who has the digest had the token. */
  const ended = ({ digest }: Credential): Refusal => {
    const gone = revoked.get(digest);
    if (gone !== undefined) return { ...INVALID, noted: `The access token ${gone.token_prefix} was revoked.` };
    const idle = by_digest.get(digest)?.token;
    return idle === undefined ? INVALID : { ...INVALID, noted: `The access token ${idle.token_prefix} expired without use.` };
  };
  const admit = (entry: Entry): Caller => {
    entry.used_at = now();
    entry.unreported = true;
    unsaved = true;
    return entry.caller;
  };
  const isVerified = ({ digest }: Credential, { token }: Entry): boolean => verified.get(digest) === token.secret_hash.$sealed;

  const verify = async ({ token, digest }: Credential, { id, secret_hash: { $sealed } }: LiveToken): Promise<boolean> => {
    const fits = await verifyPassword(token, openSecret($sealed, `mcp_token/${id}/secret_hash`));
    if (fits) verified.set(digest, $sealed);
    return fits;
  };

  const check = async (credential: Credential): Promise<Caller | Refusal> => {
    const entry = liveEntry(credential);
    if (entry === null) return ended(credential);
    if (isVerified(credential, entry)) return admit(entry);
    try {
      if (!(await verify(credential, entry.token))) return INVALID;
    } catch (error) {
      log.error('token_not_checked', { id: entry.token.id, error: String(error) });
      return {
        status: 503,
        message: 'The access token cannot be checked right now. See the log of the host.',
        retry_after: 5,
      };
    }
    // It may have been revoked in the meantime.
    const current = liveEntry(credential);
    return current === null ? ended(credential) : admit(current);
  };

  /** The list with what this host knows of uses. */
  const toFile = ({ as_of, tokens }: TokenList): TokenList => ({
    as_of,
    tokens: tokens.map((token) => {
      const used_at = by_id.get(token.id)?.used_at ?? 0;
      const is_newer = used_at > Date.parse(token.last_used_at ?? token.created_at);
      return is_newer ? { ...token, last_used_at: new Date(used_at).toISOString() } : token;
    }),
  });
  let kept: Promise<void> = Promise.resolve();
  const save = (): Promise<void> => {
    if (list === null) return kept;
    unsaved = false;
    kept = file.write(toFile(list)).catch((error: unknown) => {
      unsaved = true;
      log.error('tokens_not_kept', { error: String(error) });
    });
    return kept;
  };

  return {
    costly: false,
    recall(credential) {
      const entry = liveEntry(credential);
      return entry !== null && isVerified(credential, entry) ? admit(entry) : null;
    },
    check,
    holds({ owner }) {
      const entry = isTokenOwner(owner) ? by_id.get(owner.slice(OWNER.length)) : undefined;
      return entry !== undefined && isLive(entry);
    },
    rights: ({ owner }) => by_id.get(owner.slice(OWNER.length))?.caller.rights ?? null,
    async load() {
      try {
        const found = await file.read();
        if (found !== null && list === null) take(found);
      } catch (error) {
        log.error('token_file_damaged', { error: String(error) });
      }
    },
    async use(tokens) {
      take({ as_of: new Date(now()).toISOString(), tokens });
      await save();
    },
    takeUses() {
      const due: TokenUse[] = [];
      for (const entry of by_id.values()) {
        if (!entry.unreported || now() - entry.reported_at < REPORT_MS) continue;
        if (due.length === USES_AT_ONCE) break;
        entry.unreported = false;
        entry.reported_at = now();
        due.push({ id: entry.token.id, last_used_at: new Date(entry.used_at).toISOString() });
      }
      return due;
    },
    keep: () => (unsaved ? save() : kept),
    as_of: () => list?.as_of ?? null,
    edition: () => edition,
  };
}

/** `accept_mcp_tokens`: access tokens made here count beside those that another scheme accepts. */
export function withSideTokens(bearer: Bearer, scheme: Scheme): Scheme {
  const schemeOf = ({ token }: Credential): Scheme => (token.startsWith(TOKEN_PREFIX) ? bearer : scheme);
  const ownSchemeOf = ({ owner }: Admission): Scheme => (isTokenOwner(owner) ? bearer : scheme);
  return {
    ...scheme,
    recall: (credential, server) => schemeOf(credential).recall(credential, server),
    check: (credential, server) => schemeOf(credential).check(credential, server),
    holds: (admitted, server) => ownSchemeOf(admitted).holds(admitted, server),
    rights: (admitted, server) => ownSchemeOf(admitted).rights?.(admitted, server) ?? null,
  };
}
