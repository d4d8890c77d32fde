import { importJWK, type JWK } from 'jose';
import type { JwtIssuer } from '#core/contract/settings/jwt-issuers.ts';
import { chooseKey, DOCUMENT_LIMIT, type GetDocument, readJwks } from '#core/edge/issuer-keys.ts';
import { documentOf } from '#core/engines/shared/bounded-text.ts';
import type { SavedCopies } from '#core/lib/saved-copies.ts';
import type { Log } from '#core/process/log.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';
import type { Ask } from '../introspection.ts';
import { type ListFile, listFile } from '../list-file.ts';

/** The keys that were last read from other issuers, by issuer. */
export type ForeignKeySets = Readonly<Record<string, { readonly url: string | null; readonly keys: readonly JWK[] }>>;

export interface ForeignKeysOptions {
  readonly ask: Ask;
  readonly file: ListFile<ForeignKeySets>;
  readonly copies: Pick<SavedCopies, 'save'>;
  readonly log: Log;
  /** Monotonic, in ms. */
  readonly ticks: () => number;
}

/** The issuer's keys have not been read yet, so a token cannot be verified. */
export class KeysUnavailable extends Error {}

/** The keys of the issuers in `jwt_issuers`: cached, stored on disk, and read again in the background. */
export interface ForeignKeys {
  load(): Promise<void>;
  /** Reads missing and old keys, so that the first caller does not wait for them. */
  prepare(issuers: readonly JwtIssuer[]): void;
  /** Waits for the issuer only when the key is unknown, at most once in 30 s. Rejects with `KeysUnavailable`. */
  keyOf(issuer: JwtIssuer, header: { readonly kid?: string | undefined; readonly alg: string }): Promise<CryptoKey | null>;
  /** Whether the issuer still has the key that verified a token. */
  has(issuer: JwtIssuer, kid: string | undefined): boolean;
  /** Changes whenever keys change. */
  edition(): number;
}

interface KeySet {
  readonly url: string | null;
  keys: readonly JWK[];
  readonly imported: Map<string, CryptoKey | null>;
  /** When the keys were last requested, successfully or not. */
  requested_at: number;
  read_at: number;
  reading: Promise<void> | null;
}

const TIMEOUT_MS = 5_000;
const COOLDOWN_MS = 30_000;
const AGE_MS = 10 * 60_000;
const NEVER = Number.NEGATIVE_INFINITY;

export const foreignKeysFile = (path: string): ListFile<ForeignKeySets> =>
  listFile(path, (value): value is ForeignKeySets => isMembers(value) && Object.values(value).every(isSet), 'a list of key sets');

const isSet = (value: unknown): boolean => isMembers(value) && Array.isArray(value['keys']);

export function createForeignKeys({ ask, file, copies, log, ticks }: ForeignKeysOptions): ForeignKeys {
  const sets = new Map<string, KeySet>();
  let edition = 0;

  const setOf = ({ issuer, jwks_url }: JwtIssuer): KeySet => {
    const current = sets.get(issuer);
    if (current !== undefined && current.url === jwks_url) return current;
    const fresh: KeySet = { url: jwks_url, keys: [], imported: new Map(), requested_at: NEVER, read_at: NEVER, reading: null };
    sets.set(issuer, fresh);
    edition++;
    return fresh;
  };
  const keep = async () => {
    const all = Object.fromEntries([...sets].map(([issuer, { url, keys }]) => [issuer, { url, keys }]));
    await copies.save('The list of keys of other issuers', () => file.write(all));
  };
  const read = async (set: KeySet, issuer: JwtIssuer): Promise<void> => {
    try {
      // One time limit for all documents together.
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const get: GetDocument = async (url) =>
        documentOf(await ask(url, { method: 'GET', headers: { accept: 'application/json' }, signal }), DOCUMENT_LIMIT);
      const keys = await readJwks(issuer, get);
      set.read_at = ticks();
      if (JSON.stringify(keys) === JSON.stringify(set.keys)) return;
      set.keys = keys;
      set.imported.clear();
      edition++;
      if (sets.get(issuer.issuer) === set) await keep();
    } catch (error) {
      // The known keys stay valid while the issuer is down.
      const reason = error instanceof Error ? error.message : String(error);
      log.warning('foreign_keys_not_read', { issuer: issuer.issuer, reason });
    }
  };
  const readAgain = (set: KeySet, issuer: JwtIssuer): Promise<void> => {
    set.requested_at = ticks();
    set.reading ??= read(set, issuer).finally(() => {
      set.reading = null;
    });
    return set.reading;
  };
  const mayAsk = ({ requested_at }: KeySet): boolean => ticks() - requested_at >= COOLDOWN_MS;
  const isOld = ({ read_at }: KeySet): boolean => ticks() - read_at >= AGE_MS;

  const find = async (set: KeySet, kid: string | undefined, alg: string): Promise<CryptoKey | null> => {
    const jwk = chooseKey(set.keys, kid, alg);
    if (jwk === null) return null;
    const name = `${alg} ${set.keys.indexOf(jwk)}`;
    const imported = set.imported.get(name);
    if (imported !== undefined) return imported;
    const key = await importJWK(jwk, alg).catch(() => null);
    const usable = key === null || key instanceof Uint8Array ? null : key;
    set.imported.set(name, usable);
    return usable;
  };

  return {
    async load() {
      try {
        for (const [issuer, { url, keys }] of Object.entries((await file.read()) ?? {})) {
          if (sets.has(issuer)) continue;
          sets.set(issuer, { url, keys, imported: new Map(), requested_at: NEVER, read_at: NEVER, reading: null });
        }
      } catch (error) {
        log.error('foreign_keys_file_damaged', { error: String(error) });
      }
    },
    prepare(issuers) {
      for (const issuer of issuers) {
        const set = setOf(issuer);
        if (isOld(set) && mayAsk(set)) void readAgain(set, issuer);
      }
      const configured = new Set(issuers.map(({ issuer }) => issuer));
      for (const issuer of sets.keys()) if (!configured.has(issuer)) sets.delete(issuer);
    },
    async keyOf(issuer, { kid, alg }) {
      const set = setOf(issuer);
      const found = await find(set, kid, alg);
      if (found !== null) {
        if (isOld(set) && mayAsk(set)) void readAgain(set, issuer);
        return found;
      }
      if (set.reading !== null) {
        await set.reading;
        const read = await find(set, kid, alg);
        if (read !== null) return read;
      }
      // The keys may be newer than the answer that was on its way.
      await (set.reading ?? (mayAsk(set) ? readAgain(set, issuer) : undefined));
      if (set.keys.length === 0) throw new KeysUnavailable();
      return find(set, kid, alg);
    },
    has: (issuer, kid) => setOf(issuer).keys.some((key) => kid === undefined || key.kid === kid),
    edition: () => edition,
  };
}
