import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares two secrets in constant time, without revealing their contents or lengths. */
export const isSameSecret = (a: string, b: string): boolean => timingSafeEqual(sha256(a), sha256(b));

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Whether a request has the service token that the programs of this installation share. */
export function isOurs(headers: Headers, service_token: string): boolean {
  const given = headers.get('x-service-token');
  return given !== null && isSameSecret(given, service_token);
}
