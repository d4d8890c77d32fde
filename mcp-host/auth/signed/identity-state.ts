import { type CompactJWSHeaderParameters, importJWK } from 'jose';
import { ACCESS_TOKEN_ALGORITHM, isIssuedAfter } from '#core/edge/identity.ts';
import type { EndedGrant, IdentityList, Until } from '#core/contract/deploy/control.ts';
import type { SavedCopies } from '#core/lib/saved-copies.ts';
import type { Log } from '#core/process/log.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';
import { type ListFile, listFile } from '../list-file.ts';

/** Fields of a token that decide whether it was ended: `iat` in seconds since 1970, `seq` in the order of the database. */
export interface TokenFacts {
  readonly grant: string;
  readonly sub: string;
  readonly client_id: string;
  readonly iat: number;
  readonly seq: number;
  readonly kid: string;
  readonly iss: string;
}

/** The last list of signing keys and ended grants from the server. A disconnected host continues to use it. */
export interface IdentityState {
  /** Null before the first list. */
  issuer(): string | null;
  as_of(): string | null;
  keyOf(header: CompactJWSHeaderParameters): CryptoKey | null;
  /** Whether a verified token is still valid, apart from its expiry. */
  counts(token: TokenFacts): boolean;
  /** Changes with every list. */
  edition(): number;
  /** Loads the list from disk, unless the server has already sent one. */
  load(): Promise<void>;
  /** @param applied called whenever tokens may have become invalid, before the list is on disk. */
  use(list: IdentityList, applied: () => void): Promise<void>;
  /** Resolves when the last list is on disk; retries a write that failed. */
  keep(): Promise<void>;
}

const KINDS = ['grant', 'sub', 'client_id'] as const;

export const identityFile = (path: string): ListFile<IdentityList> => listFile(path, isIdentityList, 'a list of signing keys');

const COPY = 'The list of signing keys and ended sign-ins';

const isIdentityList = (value: unknown): value is IdentityList =>
  isMembers(value) &&
  typeof value['issuer'] === 'string' &&
  typeof value['as_of'] === 'string' &&
  isMembers(value['jwks']) &&
  Array.isArray(value['jwks']['keys']) &&
  Array.isArray(value['ended']);

export function createIdentityState(file: ListFile<IdentityList>, copies: Pick<SavedCopies, 'note'>, log: Log): IdentityState {
  let list: IdentityList | null = null;
  let keys: ReadonlyMap<string, CryptoKey> = new Map();
  let ended = toEnded([]);
  let edition = 0;
  /** Number of received lists: if a newer one arrives while keys are imported, the older one is dropped. */
  let received = 0;

  let pending_write: Promise<void> = Promise.resolve();
  /** The last list, if it is not on disk. */
  let unsaved: IdentityList | null = null;

  const save = (next: IdentityList): Promise<void> => {
    unsaved = next;
    pending_write = file.write(next).then(
      () => {
        if (unsaved === next) unsaved = null;
        copies.note(COPY, null);
      },
      (error: unknown) => copies.note(COPY, error),
    );
    return pending_write;
  };
  const take = async (next: IdentityList, applied: () => void): Promise<void> => {
    const mine = ++received;
    // Ended grants take effect at once, even while keys are imported.
    ended = toEnded(next.ended);
    edition++;
    applied();
    const imported = await importKeys(next, log);
    if (mine !== received) return;
    list = next;
    keys = imported;
    edition++;
    applied();
    log.debug('identity_list', { as_of: next.as_of, keys: keys.size, ended: next.ended.length });
  };
  return {
    issuer: () => list?.issuer ?? null,
    as_of: () => list?.as_of ?? null,
    keyOf: ({ kid, alg }) => (alg === ACCESS_TOKEN_ALGORITHM && kid !== undefined ? (keys.get(kid) ?? null) : null),
    counts: (token) =>
      token.iss === list?.issuer &&
      keys.has(token.kid) &&
      KINDS.every((kind) => {
        const until = ended[kind].get(token[kind]);
        return until === undefined || isIssuedAfter(token, until);
      }),
    edition: () => edition,
    async load() {
      try {
        const list_on_disk = await file.read();
        if (list_on_disk !== null && received === 0) await take(list_on_disk, () => undefined);
      } catch (error) {
        log.error('identity_file_damaged', { error: String(error) });
      }
    },
    async use(next, applied) {
      await take(next, applied);
      await save(next);
    },
    async keep() {
      await pending_write;
      if (unsaved !== null) await save(unsaved);
    },
  };
}

function toEnded(entries: readonly EndedGrant[]): Readonly<Record<(typeof KINDS)[number], ReadonlyMap<string, Until>>> {
  const ends = () => new Map<string, Until>();
  const of_kind = { grant: ends(), sub: ends(), client_id: ends() };
  for (const entry of entries) {
    for (const kind of KINDS) {
      const value = entry[kind];
      if (value === undefined) continue;
      // The id of a grant is never reused, so its end applies to every token.
      const before = kind === 'grant' ? Number.POSITIVE_INFINITY : entry.before;
      const known = of_kind[kind].get(value) ?? { before: 0, seq: 0 };
      of_kind[kind].set(value, { before: Math.max(before, known.before), seq: Math.max(entry.seq, known.seq) });
    }
  }
  return of_kind;
}

/** A key that cannot be read does not affect the others. */
async function importKeys({ jwks }: IdentityList, log: Log): Promise<Map<string, CryptoKey>> {
  const keys = new Map<string, CryptoKey>();
  for (const jwk of jwks.keys) {
    try {
      const key = await importJWK(jwk, ACCESS_TOKEN_ALGORITHM);
      if (jwk.kid !== undefined && !(key instanceof Uint8Array)) keys.set(jwk.kid, key);
    } catch (error) {
      log.error('signing_key_not_read', { kid: jwk.kid, error: String(error) });
    }
  }
  return keys;
}
