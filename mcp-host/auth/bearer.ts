import type { LiveToken } from '#core/contract/deploy/control.ts';
import { type Scheme, type Credential, INVALID, type Refusal } from './scheme.ts';
import type { SavedCopies } from '#core/lib/saved-copies.ts';
import type { Log } from '#core/process/log.ts';
import type { TokenFile, TokenList } from './list-file.ts';
import { type Caller, TOKEN_OWNER as OWNER, createCaller, type Admission } from './caller.ts';
import { type Claims, toIdentity } from '#core/query/identity.ts';
import { type Rights, rightsOf } from './rights.ts';
import { verifyPassword } from '#mcp-host/runtime/runtime.ts';

const TOKEN_PREFIX = 'svc_mcp_';

/** A use of a token to report to the server. */
export interface TokenUse {
  readonly id: string;
  readonly last_used_at: string;
}

/**
 * Access tokens of `auth_type` bearer. The server sends the list whenever it changes; the host stores it on disk and checks
 * tokens without the server.
 */
export interface Bearer extends Scheme {
  /** Loads the list from disk. */
  load(): Promise<void>;
  /** Replaces the list. */
  use(tokens: readonly LiveToken[]): Promise<void>;
  /** Uses to report now: the first use of a token at once, then at most every 10 s. */
  takeUses(): TokenUse[];
  /**
   * Writes unsaved lists and uses to disk. A host that starts without its server would otherwise take used tokens for idle ones.
   */
  keep(): Promise<void>;
  /** When the server sent the list; null before the first one. */
  as_of(): string | null;
  /** Changes with every list. */
  edition(): number;
}

export interface BearerOptions {
  readonly file: TokenFile;
  /** Opens a bcrypt hash sealed at `mcp_token/<id>/secret_hash` or, of the secret before a rotation, `…/previous_hash`. */
  readonly openSecret: (sealed: string, path: string) => string;
  readonly copies: Pick<SavedCopies, 'note'>;
  readonly log: Log;
  readonly now: () => number;
}

const COPY = 'The list of access tokens';

interface Entry {
  readonly token: LiveToken;
  /** When the token ends, in ms. */
  readonly ends: number;
  /** Last use in ms, on this host or, as reported by the server, on another one. */
  used_at: number;
  reported_at: number;
  unreported: boolean;
}

const REPORT_MS = 10_000;

/** Most uses in one usage report to the server. */
const USES_AT_ONCE = 1_000;

/** One secret of a token: its current one, or the one before a rotation. */
interface Secret {
  readonly entry: Entry;
  readonly sealed: string;
  /** The path at which its hash is sealed. */
  readonly path: string;
  /** When it ends, in ms. */
  readonly ends: number;
  readonly is_previous: boolean;
  readonly caller: Caller;
}

/** Lists that a host saved before tokens had an end lack it. */
const endIn = (iso: string | null | undefined): number => (iso == null ? Number.POSITIVE_INFINITY : Date.parse(iso));

function secretsOf(entry: Entry): [digest: string, secret: Secret][] {
  const { token, ends } = entry;
  const { id, digest, secret_hash, previous = null } = token;
  const path = `mcp_token/${id}`;
  const caller = toCaller(token);
  const current = { entry, sealed: secret_hash.$sealed, path: `${path}/secret_hash`, ends, is_previous: false, caller };
  if (previous === null) return [[digest, current]];
  // Sessions and streams that the old secret opened end with it.
  const old = { ...caller, grant: previous.digest };
  const before = { entry, sealed: previous.secret_hash.$sealed, path: `${path}/previous_hash`, caller: old };
  return [
    [digest, current],
    [previous.digest, { ...before, ends: Math.min(ends, endIn(previous.ends_at)), is_previous: true }],
  ];
}

const isTokenOwner = (owner: string): boolean => owner.startsWith(OWNER);

function toCaller(token: LiveToken): Caller {
  const { id, name, token_prefix, toolsets } = token;
  // The claims were parsed from JSON.
  const claims = token.claims as Claims;
  const identity = toIdentity(claims, { sub: `token:${name}`, token: name });
  return createCaller(`${OWNER}${id}`, token_prefix, rightsOf(toolsets), claims, identity);
}

/** @param why completes a sentence about the token. */
const refusal = (why: string, token_prefix: string): Refusal => ({
  status: 401,
  message: `Unauthorized: the access token ${why}. Ask an administrator for a new one.`,
  noted: `The access token ${token_prefix} ${why}.`,
});

export const createBearer = (options: BearerOptions): Bearer => new TokenScheme(options);

class TokenScheme implements Bearer {
  readonly costly = false;
  readonly #options: BearerOptions;
  #list: TokenList | null = null;
  #edition = 0;
  #by_digest = new Map<string, Secret>();
  #by_id = new Map<string, Entry>();
  /** Revoked tokens by digest, so that a refusal can name the token. */
  #revoked = new Map<string, LiveToken>();
  /** Whether the list or a use is newer than the file. */
  #unsaved = false;
  /**
   * The sealed hash that each digest was verified against, while the list has both. A match never changes; whether the token is
   * live is checked at every call.
   */
  readonly #verified = new Map<string, string>();
  #pending_write: Promise<void> = Promise.resolve();

  constructor(options: BearerOptions) {
    this.#options = options;
  }

  async check(credential: Credential): Promise<Caller | Refusal> {
    const secret = this.#liveSecret(credential);
    if (secret === null) return this.#ended(credential);
    if (this.#isVerified(credential, secret)) return this.#admit(secret);
    try {
      if (!(await this.#verify(credential, secret))) return INVALID;
    } catch (error) {
      this.#options.log.error('token_not_checked', { id: secret.entry.token.id, error: String(error) });
      return {
        status: 503,
        message: 'The access token cannot be checked right now. See the log of the host.',
        retry_after: 5,
      };
    }
    // The token may have been revoked during the check.
    const current = this.#liveSecret(credential);
    return current === null ? this.#ended(credential) : this.#admit(current);
  }

  recall(credential: Credential): Caller | null {
    const secret = this.#liveSecret(credential);
    return secret !== null && this.#isVerified(credential, secret) ? this.#admit(secret) : null;
  }

  holds({ owner, grant }: Admission): boolean {
    const entry = isTokenOwner(owner) ? this.#by_id.get(owner.slice(OWNER.length)) : undefined;
    if (entry === undefined || !this.#isLive(entry)) return false;
    // The secret before a rotation.
    return grant === undefined || this.#isLiveSecret(this.#by_digest.get(grant));
  }

  rights({ owner }: Admission): Rights | null {
    const token = this.#by_id.get(owner.slice(OWNER.length))?.token;
    return token === undefined ? null : (this.#by_digest.get(token.digest)?.caller.rights ?? null);
  }

  readmit(admitted: Admission): Caller | null {
    if (!this.holds(admitted)) return null;
    const digest = admitted.grant ?? this.#by_id.get(admitted.owner.slice(OWNER.length))?.token.digest;
    return digest === undefined ? null : (this.#by_digest.get(digest)?.caller ?? null);
  }

  async load(): Promise<void> {
    try {
      const found = await this.#options.file.read();
      if (found !== null && this.#list === null) this.#take(found);
    } catch (error) {
      this.#options.log.error('token_file_damaged', { error: String(error) });
    }
  }

  async use(tokens: readonly LiveToken[]): Promise<void> {
    this.#take({ as_of: new Date(this.#options.now()).toISOString(), tokens });
    await this.#save();
  }

  takeUses(): TokenUse[] {
    const due: TokenUse[] = [];
    for (const entry of this.#by_id.values()) {
      if (!entry.unreported || this.#options.now() - entry.reported_at < REPORT_MS) continue;
      if (due.length === USES_AT_ONCE) break;
      entry.unreported = false;
      entry.reported_at = this.#options.now();
      due.push({ id: entry.token.id, last_used_at: new Date(entry.used_at).toISOString() });
    }
    return due;
  }

  keep(): Promise<void> {
    return this.#unsaved ? this.#save() : this.#pending_write;
  }

  as_of(): string | null {
    return this.#list?.as_of ?? null;
  }

  edition(): number {
    return this.#edition;
  }

  #isLive({ token: { revoked, idle_timeout_minutes }, used_at, ends }: Entry): boolean {
    const now = this.#options.now();
    return !revoked && now < ends && (idle_timeout_minutes === null || now - used_at <= idle_timeout_minutes * 60_000);
  }

  #isLiveSecret(secret: Secret | undefined): secret is Secret {
    return secret !== undefined && this.#options.now() < secret.ends && this.#isLive(secret.entry);
  }

  #take(next: TokenList): void {
    const before = this.#by_id;
    this.#list = next;
    this.#edition++;
    this.#by_digest = new Map();
    this.#by_id = new Map();
    this.#revoked = new Map();
    for (const token of next.tokens) {
      const known = before.get(token.id);
      const used_at = Math.min(
        this.#options.now(),
        Math.max(Date.parse(token.last_used_at ?? token.created_at), known?.used_at ?? 0),
      );
      const ends = endIn(token.expires_at);
      const entry = { reported_at: known?.reported_at ?? 0, unreported: known?.unreported ?? false, token, ends, used_at };
      this.#by_id.set(token.id, entry);
      if (token.revoked) this.#revoked.set(token.digest, token);
      else for (const [digest, secret] of secretsOf(entry)) this.#by_digest.set(digest, secret);
    }
    for (const [digest, sealed] of this.#verified) {
      if (this.#by_digest.get(digest)?.sealed !== sealed) this.#verified.delete(digest);
    }
  }

  #liveSecret({ digest }: Credential): Secret | null {
    const secret = this.#by_digest.get(digest);
    return this.#isLiveSecret(secret) ? secret : null;
  }

  /**
   * Returns why the token is not live. A matching digest proves that the caller has the token, so it may know of its end, and the note
   * may name it.
   */
  #ended({ digest }: Credential): Refusal {
    const gone = this.#revoked.get(digest);
    if (gone !== undefined) return { ...INVALID, noted: `The access token ${gone.token_prefix} was revoked.` };
    const secret = this.#by_digest.get(digest);
    if (secret === undefined) return INVALID;
    const { is_previous, ends } = secret;
    const { token_prefix } = secret.entry.token;
    if (this.#options.now() < ends) return { ...INVALID, noted: `The access token ${token_prefix} expired without use.` };
    const at = new Date(ends).toISOString();
    return is_previous && ends < secret.entry.ends
      ? refusal(`was rotated, and its secret before ended on ${at}`, token_prefix)
      : refusal(`expired on ${at}`, token_prefix);
  }

  #admit({ entry, caller }: Secret): Caller {
    entry.used_at = this.#options.now();
    entry.unreported = true;
    this.#unsaved = true;
    return caller;
  }

  #isVerified({ digest }: Credential, { sealed }: Secret): boolean {
    return this.#verified.get(digest) === sealed;
  }

  async #verify({ token, digest }: Credential, { sealed, path }: Secret): Promise<boolean> {
    const fits = await verifyPassword(token, this.#options.openSecret(sealed, path));
    if (fits) this.#verified.set(digest, sealed);
    return fits;
  }

  /** The list, with the newest uses on this host. */
  #toFile({ as_of, tokens }: TokenList): TokenList {
    return {
      as_of,
      tokens: tokens.map((token) => {
        const used_at = this.#by_id.get(token.id)?.used_at ?? 0;
        const is_newer = used_at > Date.parse(token.last_used_at ?? token.created_at);
        return is_newer ? { ...token, last_used_at: new Date(used_at).toISOString() } : token;
      }),
    };
  }

  #save(): Promise<void> {
    if (this.#list === null) return this.#pending_write;
    this.#unsaved = false;
    const { file, copies } = this.#options;
    this.#pending_write = file.write(this.#toFile(this.#list)).then(
      () => copies.note(COPY, null),
      (error: unknown) => {
        this.#unsaved = true;
        copies.note(COPY, error);
      },
    );
    return this.#pending_write;
  }
}

/** `accept_mcp_tokens`: accepts the server's access tokens as well as those of another scheme. */
export function withSideTokens(bearer: Bearer, scheme: Scheme): Scheme {
  const schemeOf = ({ token }: Credential): Scheme => (token.startsWith(TOKEN_PREFIX) ? bearer : scheme);
  const issuingScheme = ({ owner }: Admission): Scheme => (isTokenOwner(owner) ? bearer : scheme);
  return {
    ...scheme,
    recall: (credential, server) => schemeOf(credential).recall(credential, server),
    check: (credential, server) => schemeOf(credential).check(credential, server),
    holds: (admitted, server) => issuingScheme(admitted).holds(admitted, server),
    rights: (admitted, server) => issuingScheme(admitted).rights?.(admitted, server) ?? null,
    passport: (admitted, server) => issuingScheme(admitted).passport?.(admitted, server) ?? null,
    readmit: (admitted, server, passport) => issuingScheme(admitted).readmit(admitted, server, passport),
  };
}
