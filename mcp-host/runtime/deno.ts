import { createHash, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { xxHash64 } from '#core/lib/xxhash64.ts';
import { dialledFetch } from './deno-fetch.ts';
import { serve } from './deno-serve.ts';
import type { Runtime } from './types.ts';

// Bun has `require` in every module; modules that are loaded on demand use it.
Object.assign(globalThis, { require: createRequire(import.meta.url) });

/** Deno through its Node modules; no API of Deno is used. */
export const DENO: Runtime = {
  serve,
  dialledFetch,
  largeBody: (answer) => answer,
  sha256: (text) => createHash('sha256').update(text).digest('hex'),
  quickHash: (text) => Number(xxHash64(text) & 0xf_ffff_ffff_ffffn),
  async verifyPassword(password, hash) {
    const { compare } = await import('bcryptjs');
    return compare(password, hash);
  },
  newRequestId: createIds(),
  standardInput: () => Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>,
};

/** UUIDs of version 7 (RFC 9562, section 5.7), with a counter for UUIDs of the same millisecond. */
function createIds(): () => string {
  let last = 0;
  let counter = 0;
  return () => {
    const now = Date.now();
    if (now > last) [last, counter] = [now, 0];
    else if (++counter > 0xfff) [last, counter] = [last + 1, 0];
    const bytes = randomBytes(16);
    bytes.writeUIntBE(last, 0, 6);
    bytes.writeUInt16BE(0x7000 | counter, 6);
    bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
    const hex = bytes.toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  };
}
