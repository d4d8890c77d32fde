import { createHash } from 'node:crypto';

/** Formats JSON with sorted keys and without white space, so that equal values have equal texts. Undefined fields are omitted. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item === undefined ? null : item)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const item = (value as Record<string, unknown>)[key];
    if (item !== undefined) fields.push(`${JSON.stringify(key)}:${canonical(item)}`);
  }
  return `{${fields.join(',')}}`;
}

const SEALED = /\{"\$sealed":"v1\.[0-9a-f]{8}\.([\w-]*)\.[\w-]*"\}/g;

const withFingerprints = (canonical_text: string): string =>
  canonical_text.includes('{"$sealed"') ? canonical_text.replace(SEALED, '{"$secret":"$1"}') : canonical_text;

/** `sha256:` and 64 hex digits over a canonical text. Secrets count by fingerprint, so encrypting them again changes nothing. */
export const checksum = (canonical_text: string): string =>
  `sha256:${createHash('sha256').update(withFingerprints(canonical_text)).digest('hex')}`;

/** SHA-256 as 43 characters of base64url; identifies the text of an entity in a tree. */
export const hashOf = (canonical_text: string): string => createHash('sha256').update(canonical_text).digest('base64url');

/** Like `hashOf`, for entities with secrets, which count by fingerprint. */
export const sealedHashOf = (canonical_text: string): string => hashOf(withFingerprints(canonical_text));

/** Whether a received text matches its hash. */
export const isTextOf = (hash: string, canonical_text: string): boolean =>
  hashOf(canonical_text) === hash || sealedHashOf(canonical_text) === hash;
