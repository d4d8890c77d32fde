import { createHash, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { renderSVG } from 'uqr';

const PERIOD_S = 30;
/** The codes of the previous and the next step are also accepted, because clocks of phones differ (RFC 6238, section 5.2). */
const WINDOW = 1;
export const RECOVERY_CODES = 10;

const totp = (secret: string, label = '', issuer = '') =>
  new TOTP({ secret: Secret.fromBase32(secret), label, issuer, algorithm: 'SHA1', digits: 6, period: PERIOD_S });

/** @returns 160 random bits in Base32. */
export const newTotpSecret = (): string => new Secret({ size: 20 }).base32;

/** The URI for authenticators: `otpauth://totp/…`. */
export const otpauthUri = (secret: string, username: string, issuer: string): string => totp(secret, username, issuer).toString();

export const qrSvg = (text: string): string => renderSVG(text, { ecc: 'M', border: 2 });

/** The time step of a code; null when it is wrong. */
export function stepOf(secret: string, code: string, now: Date): number | null {
  const timestamp = now.getTime();
  const delta = totp(secret).validate({ token: code.replaceAll(/\s/g, ''), timestamp, window: WINDOW });
  return delta === null ? null : Math.floor(timestamp / 1_000 / PERIOD_S) + delta;
}

/** Crockford's Base32: without I, L, O and U, so that a code on paper is read correctly. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** @returns 80 random bits as `XXXX-XXXX-XXXX-XXXX`. */
export function newRecoveryCode(): string {
  const letters = [...randomBytes(16)].map((byte) => ALPHABET[byte % 32]).join('');
  return letters.replace(/(.{4})(?=.)/g, '$1-');
}

/** The stored form of a recovery code: 80 random bits need no slow hash. Case, hyphens and spaces are ignored. */
export function recoveryHash(person_id: string, code: string): string {
  const typed = code.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');
  return createHash('sha256').update(`${person_id}\0${typed}`).digest('hex');
}
