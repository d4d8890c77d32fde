import { largeBody } from './bun-large-body.ts';
import { serve } from './bun-serve.ts';
import type { Runtime } from './types.ts';

export const BUN: Runtime = {
  serve,
  largeBody,
  sha256: (text) => Bun.SHA256.hash(text, 'hex'),
  quickHash: (text) => Number(Bun.hash.xxHash64(text) & 0xf_ffff_ffff_ffffn),
  verifyPassword: (password, hash) => Bun.password.verify(password, hash),
  newRequestId: () => Bun.randomUUIDv7(),
  standardInput: () => Bun.stdin.stream(),
};
