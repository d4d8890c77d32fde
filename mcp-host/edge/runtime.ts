import { createHash } from 'node:crypto';
import { xxHash64 } from '#core/lib/xxhash64.ts';

/** What the host uses of its runtime, where that is an isolate: the same names as in `mcp-host/runtime`. */

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
export const quickHash = (text: string): number => Number(xxHash64(text) & 0xf_ffff_ffff_ffffn);
/** A bundle has no hash of a token that takes long to make: tokens are random, so their SHA-256 is enough to check them. */
export const verifyPassword = (password: string, digest: string): Promise<boolean> =>
  Promise.resolve(sha256(password) === digest);
export const newRequestId = (): string => crypto.randomUUID();
/** The body of a response, which the platform sends. */
export const largeBody = (answer: string | Blob): string | Blob => answer;
