import { AppError } from '#core/errors.ts';
import { parseReference, type Reference } from '#core/lib/text/secret-reference.ts';
import type { SecretReader } from '#core/lib/secrets.ts';
import { createRecentMap } from '#core/lib/recent-map.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Log } from '#core/process/log.ts';
import { MOST_BYTES, readEnv, readFileSecret, runCommand, type Surroundings } from './local.ts';
import { unavailable } from './unavailable.ts';
import { createVault, type VaultSettings } from './vault.ts';

export type { Surroundings } from './local.ts';

export type ResolveSecret = SecretReader['resolve'];

export interface SecretRefsOptions extends Surroundings {
  /** Null: `vault:` cannot be read. */
  readonly vault: VaultSettings | null;
  /** How long a secret is used before it is read again. */
  readonly ttl_seconds: () => number | Promise<number>;
  readonly log: Log;
  /** Monotonic, in ms. */
  readonly ticks?: () => number;
}

interface Cached {
  readonly value: string;
  readonly read_at: number;
  /** When its source could not be read. */
  failed_at?: number;
  /** When its source gave it again although it was refused. */
  confirmed_at?: number;
}

/** Editors can name any number of references below one beginning. */
const MOST_CACHED = 1_000;

const TIMEOUT_MS = 10_000;
/** While a source cannot be read, or gives the same refused secret, it is read again only after this time. */
const RETRY_MS = 1_000;

/**
 * Reads secrets where their references say. A secret is cached in memory only. While its source cannot be read, the last one is
 * used further.
 */
export function createSecretRefs(options: SecretRefsOptions): ResolveSecret {
  const { ttl_seconds, log, ticks = () => performance.now() } = options;
  const vault = options.vault && createVault(options.vault);
  const cache = createRecentMap<Cached>(MOST_CACHED);
  const reading = new Map<string, Promise<string>>();

  const read = async (ref: string): Promise<string> => {
    const reference = parseReference(ref);
    if (reference === null) throw unavailable(ref, 'is not a reference');
    const late = () => {
      throw unavailable(ref, 'was not read in time');
    };
    const text = await withTimeout(readOne(reference, ref), TIMEOUT_MS, late);
    const value = text.replace(/\r?\n$/, '');
    if (value === '') throw unavailable(ref, 'is empty');
    if (Buffer.byteLength(value) > MOST_BYTES) throw unavailable(ref, `is longer than ${MOST_BYTES} bytes`);
    cache.set(ref, { value, read_at: ticks() });
    return value;
  };
  const readOne = async (reference: Reference, ref: string): Promise<string> => {
    if (reference.kind === 'env') return readEnv(reference, options);
    if (reference.kind === 'file') return readFileSecret(reference, options);
    if (reference.kind === 'exec') return runCommand(reference, options);
    if (vault === null) throw unavailable(ref, 'cannot be read because SVC_VAULT_ADDR is not set');
    return vault(reference, ref);
  };
  /** Concurrent requests for one reference share one read. */
  const fetch = (ref: string): Promise<string> => {
    const shared = reading.get(ref);
    if (shared !== undefined) return shared;
    const fresh = read(ref).finally(() => reading.delete(ref));
    reading.set(ref, fresh);
    return fresh;
  };

  return async (ref, refused) => {
    const cached = cache.get(ref);
    if (cached === undefined) return fetch(ref);
    const since = (moment: number | undefined) => (moment === undefined ? Infinity : ticks() - moment);
    if (typeof refused === 'string') {
      if (cached.value !== refused) return cached.value;
      if (since(cached.confirmed_at) < RETRY_MS) return cached.value;
      const fresh = await fetch(ref);
      const now = cache.get(ref);
      if (fresh === refused && now !== undefined) now.confirmed_at = ticks();
      return fresh;
    }
    const is_fresh = since(cached.read_at) < (await ttl_seconds()) * 1_000;
    if (is_fresh || since(cached.failed_at) < RETRY_MS) return cached.value;
    try {
      return await fetch(ref);
    } catch (error) {
      cached.failed_at = ticks();
      const detail = error instanceof AppError ? error.detail : String(error);
      log.warning('secret_not_read', { detail, effect: 'the last secret of this reference is used' });
      return cached.value;
    }
  };
}
