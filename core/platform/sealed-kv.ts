import type { Platform } from '#core/platform/platform.ts';
import { openOrNull } from '#core/lib/secrets.ts';

type Sealed = Pick<Platform, 'kv' | 'keyring'>;

/** Shared values that programs act on are sealed at their key: who can write to Redis can neither make nor move one. */
export const setSealed = ({ kv, keyring }: Sealed, key: string, value: string, ttl_ms: number): Promise<void> =>
  kv.set(key, keyring.seal(value, key), ttl_ms);

/** Null: nothing is there, or it was not sealed by this installation. */
export async function getSealed({ kv, keyring }: Sealed, key: string): Promise<string | null> {
  const text = await kv.get(key);
  return text === null ? null : openOrNull(keyring, text, key);
}
