import { createHash } from 'node:crypto';
import { xxHash64 } from '#core/lib/xxhash64.ts';

/** The runtime functions of a host in an isolate; the names are those of `mcp-host/runtime`. */

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
export const quickHash = (text: string): number => Number(xxHash64(text) & 0xf_ffff_ffff_ffffn);
/** A bundle has no slow hashes of tokens: tokens are random, so their SHA-256 is enough to check them. */
export const verifyPassword = (password: string, digest: string): Promise<boolean> =>
  Promise.resolve(sha256(password) === digest);
export const newRequestId = (): string => crypto.randomUUID();
/** The platform sends large bodies. */
export const largeBody = (answer: string | Blob): string | Blob => answer;
