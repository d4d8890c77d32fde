import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Seals values that others, such as the client, store or forward, and cannot read or change. */
export interface Sealing<T> {
  seal(value: T): string;
  /** Null when it was not sealed with these keys and this purpose. */
  open(text: string): T | null;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * @param keys `SVC_ENCRYPTION_KEY`: the first one seals, all of them open. Without keys, only this process can open a value.
 * @param purpose prevents a sealed value from being opened for another purpose.
 */
export function createSealing<T extends object>(keys: readonly string[], purpose: string, longest: number): Sealing<T> {
  const toKey = (key: string): Buffer => Buffer.from(hkdfSync('sha256', key, 'sluice', purpose, 32));
  const ring = keys.length === 0 ? [randomBytes(32)] : keys.map(toKey);
  const openWith = (key: Buffer, sealed: Buffer): T | null => {
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const text = Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      return JSON.parse(text.toString()) as T;
    } catch {
      return null;
    }
  };
  return {
    seal(value) {
      const [key] = ring;
      if (key === undefined) throw new Error('There is no key to seal with.');
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
      const sealed = Buffer.concat([iv, cipher.update(JSON.stringify(value)), cipher.final(), cipher.getAuthTag()]);
      return sealed.toString('base64url');
    },
    open(text) {
      if (text.length > longest || !/^[\w-]+$/.test(text)) return null;
      const sealed = Buffer.from(text, 'base64url');
      // In base64url several last letters can stand for the same bytes; only the canonical text is accepted.
      if (sealed.length <= IV_BYTES + TAG_BYTES || sealed.toString('base64url') !== text) return null;
      for (const key of ring) {
        const value = openWith(key, sealed);
        if (value !== null) return value;
      }
      return null;
    },
  };
}
