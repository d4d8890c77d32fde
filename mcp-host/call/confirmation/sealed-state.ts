import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Changes } from '#core/engines/shared/source.ts';

/** A question that was asked, and all that an answer to it has to agree with. */
export interface Asked {
  /** Whether a person was asked, or a token was given that the model passes back. */
  readonly to: 'person' | 'model';
  readonly tool_id: string;
  /** Checksum of what was served then. */
  readonly snapshot: string;
  /** Digest of the arguments and of who called. */
  readonly call: string;
  readonly changes: Changes;
  /** Counts once. */
  readonly nonce: string;
  /** The host that remembers the nonce; null: all of them do. */
  readonly host: string | null;
  readonly asked_at: number;
  readonly ends_at: number;
}

/** Goes through the client, who can neither read nor change it. */
export interface SealedState {
  seal(asked: Asked): string;
  /** Null: it is none of ours. */
  open(text: string): Asked | null;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;
const LONGEST = 2_048;

/** @param keys `SVC_ENCRYPTION_KEY`: the first one seals, every one opens. Without any, only this host opens what it sealed. */
export function createSealedState(keys: readonly string[]): SealedState {
  const ring = keys.length === 0 ? [randomBytes(32)] : keys.map(toKey);
  const openWith = (key: Buffer, sealed: Buffer): Asked | null => {
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const text = Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      return JSON.parse(text.toString()) as Asked;
    } catch {
      return null;
    }
  };
  return {
    seal(asked) {
      const [key] = ring;
      if (key === undefined) throw new Error('There is no key to seal with.');
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
      const sealed = Buffer.concat([iv, cipher.update(JSON.stringify(asked)), cipher.final(), cipher.getAuthTag()]);
      return sealed.toString('base64url');
    },
    open(text) {
      if (text.length > LONGEST || !/^[\w-]+$/.test(text)) return null;
      const sealed = Buffer.from(text, 'base64url');
      // Several spellings of the last letter mean the same bytes.
      if (sealed.length <= IV_BYTES + TAG_BYTES || sealed.toString('base64url') !== text) return null;
      for (const key of ring) {
        const asked = openWith(key, sealed);
        if (asked !== null) return asked;
      }
      return null;
    },
  };
}

const toKey = (key: string): Buffer => Buffer.from(hkdfSync('sha256', key, 'sluice', 'mcp-confirmations/1', 32));
