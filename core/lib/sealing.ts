import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Goes through others, such as the client, who can neither read nor change it. */
export interface Sealing<T> {
  seal(value: T): string;
  /** Null: it is none of ours. */
  open(text: string): T | null;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * @param keys `SVC_ENCRYPTION_KEY`: the first one seals, every one opens. Without any, only this host opens what it sealed.
 * @param purpose keeps what is sealed for one thing from being opened as another.
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
      // Several spellings of the last letter mean the same bytes.
      if (sealed.length <= IV_BYTES + TAG_BYTES || sealed.toString('base64url') !== text) return null;
      for (const key of ring) {
        const value = openWith(key, sealed);
        if (value !== null) return value;
      }
      return null;
    },
  };
}
