import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { readJwks } from '#core/edge/issuer-keys.ts';
import { AppError } from '#core/errors.ts';
import { createExpiringMap } from '#core/lib/recent-map.ts';
import type { Ask } from './ask.ts';

/** The public keys of identity providers, which verify what they sign. */
export interface ProviderKeys {
  /** Finds the key of a provider that a JWT names. Rejects with `provider_failed` when the keys cannot be read. */
  readonly keyOf: (issuer: string) => JWTVerifyGetKey;
  forget(issuer: string): void;
}

const FRESH_MS = 600_000;
/** How long a failure is cached, and the least time before an unknown key causes another read. */
const FAILED_MS = 5_000;
const AGAIN_MS = 30_000;
const REMEMBERED = 100;

interface Read {
  readonly keys: Promise<JWTVerifyGetKey>;
  readonly at: number;
}

/** The address of the keys in the provider's metadata. It is never taken from a JWT. */
type KeyAddress = (issuer: string) => Promise<string | null>;

export function createProviderKeys(ask: Ask, addressOf: KeyAddress, ticks: () => number): ProviderKeys {
  const known = createExpiringMap<Read>(ticks, REMEMBERED);
  const read = (issuer: string): Read => {
    const keys = readKeys(ask, issuer, addressOf);
    const entry = { keys, at: ticks() };
    known.set(issuer, entry, ticks() + FRESH_MS);
    keys.catch(() => known.set(issuer, entry, ticks() + FAILED_MS));
    return entry;
  };
  return {
    keyOf: (issuer) => async (header, token) => {
      const entry = known.get(issuer) ?? read(issuer);
      const keys = await entry.keys;
      try {
        return await keys(header, token);
      } catch (error) {
        // The provider may have rotated its keys.
        const is_recent = ticks() - entry.at < AGAIN_MS;
        if (!(error instanceof errors.JWKSNoMatchingKey) || is_recent) throw error;
      }
      const newer = known.get(issuer);
      const again = newer === undefined || newer === entry ? read(issuer) : newer;
      return (await again.keys)(header, token);
    },
    forget: (issuer) => known.delete(issuer),
  };
}

async function readKeys(ask: Ask, issuer: string, addressOf: KeyAddress): Promise<JWTVerifyGetKey> {
  const jwks_url = await addressOf(issuer);
  try {
    const keys = await readJwks({ issuer, jwks_url }, async (url) => {
      const answer = await ask(url, { method: 'GET', headers: { accept: 'application/json' } });
      return { status: answer.status, text: await answer.text() };
    });
    return createLocalJWKSet({ keys });
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('provider_failed', 'The signing keys of the identity provider could not be read.', { cause });
  }
}
