import { createHash, createHmac, createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { AppError } from '#core/errors.ts';

/**
 * AES-256-GCM with a list of keys (`SVC_ENCRYPTION_KEY`, separated by commas, newest first). A sealed value is `v1.<key
 * id>.<fingerprint>.<nonce, tag and ciphertext>` in base64url. The associated data bind it to its path
 * (`connection/<id>/password`), so that a ciphertext cannot be opened in another row. The fingerprint is a keyed hash of the
 * plain text that stays the same across rotations: equal secrets at the same path have equal fingerprints.
 */
export interface Keyring {
  readonly current_key_id: string;
  readonly key_ids: readonly string[];
  seal(plain: string, path: string): string;
  /** Throws `secrets_unavailable`, with the key ID, when no key opens it. */
  open(sealed: string, path: string): string;
  /** Whether an older key sealed it. It is sealed again when its record is next written. */
  stale(sealed: string): boolean;
}

const NONCE = 12;
const TAG = 16;

/**
 * @param keys texts from the environment; the first one seals. @param fingerprint_key 32 bytes that stay the same across
 * rotations.
 */
export function createKeyring(keys: readonly string[], fingerprint_key: Uint8Array): Keyring {
  const ring = keys.map(toKey);
  const current = ring[0];
  if (current === undefined) throw new AppError('internal', 'The encryption key ring is empty.');
  const by_id = new Map(ring.map((entry) => [entry.id, entry.key]));
  return {
    current_key_id: current.id,
    key_ids: ring.map((entry) => entry.id),
    seal(plain, path) {
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv('aes-256-gcm', current.key, nonce).setAAD(Buffer.from(path));
      const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      const fingerprint = createHmac('sha256', fingerprint_key).update(`${path}\0${plain}`).digest('base64url').slice(0, 22);
      return `v1.${current.id}.${fingerprint}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
    },
    open(sealed, path) {
      const [scheme, key_id, , body] = sealed.split('.');
      const key = key_id === undefined ? undefined : by_id.get(key_id);
      if (scheme !== 'v1' || body === undefined || key === undefined) {
        throw new AppError(
          'secrets_unavailable',
          `A stored secret was encrypted with the key ${key_id ?? 'unknown'}, which is not in SVC_ENCRYPTION_KEY. Add that key to the end of the list.`,
        );
      }
      const bytes = Buffer.from(body, 'base64url');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE))
          .setAAD(Buffer.from(path))
          .setAuthTag(bytes.subarray(NONCE, NONCE + TAG));
        return Buffer.concat([decipher.update(bytes.subarray(NONCE + TAG)), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new AppError(
          'secrets_unavailable',
          `A stored secret could not be decrypted with the key ${key_id}: it was changed, or belongs to another record.`,
          { cause },
        );
      }
    },
    stale: (sealed) => sealed.split('.')[1] !== current.id,
  };
}

/** Opens stored secrets: sealed ones with a key, references where they are found. */
export interface SecretReader extends Pick<Keyring, 'open'> {
  /**
   * Reads the secret of a reference. Throws `secrets_unavailable`. @param refused the secret that another system refused: the
   * cached one is used only if it differs.
   */
  resolve(ref: string, refused?: string | null): Promise<string>;
}

/** For programs that read no references: bundles have bindings instead. */
export function refuseReference(ref: string): Promise<string> {
  return Promise.reject(
    new AppError('secrets_unavailable', `The secret ${ref} cannot be read, because this program reads no references.`),
  );
}

/** The plain text of a stored secret. */
export const readSecret = async (
  secret: { readonly $sealed: string } | { readonly ref: string },
  path: string,
  reader: SecretReader,
  refused?: string | null,
): Promise<string> => ('ref' in secret ? reader.resolve(secret.ref, refused) : reader.open(secret.$sealed, path));

/** The plain text; null when no key opens it. */
export function openOrNull(keyring: Keyring, sealed: string, path: string): string | null {
  try {
    return keyring.open(sealed, path);
  } catch (error) {
    if (error instanceof AppError && error.code === 'secrets_unavailable') return null;
    throw error;
  }
}

/** The part of a sealed value that is equal for equal secrets. */
export const fingerprintOf = (sealed: string): string => sealed.split('.')[2] ?? '';

/** A text that changes when a stored secret is replaced by another, or by another reference. */
export const markOf = (secret: { readonly $sealed: string } | { readonly ref: string }): string =>
  'ref' in secret ? secret.ref : fingerprintOf(secret.$sealed);

/** The key ID in sealed values: 8 hex digits of the key's SHA-256. */
export const keyIdOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 8);

function toKey(text: string): { id: string; key: Buffer } {
  return { id: keyIdOf(text), key: Buffer.from(hkdfSync('sha256', text, 'sluice', 'secrets/1', 32)) };
}
