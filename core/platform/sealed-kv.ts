import type { Platform } from '#core/platform/platform.ts';
import { openOrNull } from '#core/lib/secrets.ts';

type Sealed = Pick<Platform, 'kv' | 'keyring'>;

/**
 * Seals a shared value to its key, because programs act on it: anyone who can write to Redis can neither forge nor move a value.
 */
export const setSealed = ({ kv, keyring }: Sealed, key: string, value: string, ttl_ms: number): Promise<void> =>
  kv.set(key, keyring.seal(value, key), ttl_ms);

/** Returns null if the key does not exist or its value was not sealed by this installation. */
export async function getSealed({ kv, keyring }: Sealed, key: string): Promise<string | null> {
  const text = await kv.get(key);
  return text === null ? null : openOrNull(keyring, text, key);
}
