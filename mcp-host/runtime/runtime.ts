import type { Runtime } from './types.ts';

const chosen: Runtime = 'deno' in process.versions ? (await import('./deno.ts')).DENO : (await import('./bun.ts')).BUN;

/** The functions that differ between Bun and Deno, chosen once. */
export const { dialledFetch, largeBody, newRequestId, quickHash, serve, sha256, standardInput, verifyPassword } = chosen;
