/** What the host uses of Bun itself, beside listening and large bodies. */

export const sleep = (ms: number): Promise<void> => Bun.sleep(ms);
export const sha256 = (text: string): string => Bun.SHA256.hash(text, 'hex');
/** 52 bits of a quick hash, which no secret depends on. */
export const quickHash = (text: string): number => Number(Bun.hash.xxHash64(text) & 0xf_ffff_ffff_ffffn);
export const verifyPassword = (password: string, hash: string): Promise<boolean> => Bun.password.verify(password, hash);
/** Ids that sort by the time of their making. */
export const newRequestId = (): string => Bun.randomUUIDv7();
export const standardInput = (): ReadableStream<Uint8Array> => Bun.stdin.stream();
