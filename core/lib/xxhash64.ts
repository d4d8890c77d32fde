const P1 = 0x9e3779b185ebca87n;
const P2 = 0xc2b2ae3d27d4eb4fn;
const P3 = 0x165667b19e3779f9n;
const P4 = 0x85ebca77c2b2ae63n;
const P5 = 0x27d4eb2f165667c5n;

const wrap = (value: bigint): bigint => BigInt.asUintN(64, value);
const rotate = (value: bigint, bits: bigint): bigint => wrap((value << bits) | (value >> (64n - bits)));
const round = (sum: bigint, lane: bigint): bigint => wrap(rotate(wrap(sum + wrap(lane * P2)), 31n) * P1);
const merge = (hash: bigint, sum: bigint): bigint => wrap(wrap(hash ^ round(0n, sum)) * P1 + P4);

/** XXH64 of a text in UTF-8 with seed 0, for platforms without a native one. For short texts. */
export function xxHash64(text: string): bigint {
  const bytes = Buffer.from(text);
  let at = 0;
  let hash = P5;
  if (bytes.length >= 32) {
    const sums: [bigint, bigint, bigint, bigint] = [wrap(P1 + P2), P2, 0n, wrap(-P1)];
    for (; at + 32 <= bytes.length; at += 32) {
      for (const lane of [0, 1, 2, 3] as const) sums[lane] = round(sums[lane], bytes.readBigUInt64LE(at + 8 * lane));
    }
    hash = wrap(rotate(sums[0], 1n) + rotate(sums[1], 7n) + rotate(sums[2], 12n) + rotate(sums[3], 18n));
    for (const sum of sums) hash = merge(hash, sum);
  }
  hash = wrap(hash + BigInt(bytes.length));
  for (; at + 8 <= bytes.length; at += 8) hash = wrap(rotate(hash ^ round(0n, bytes.readBigUInt64LE(at)), 27n) * P1 + P4);
  if (at + 4 <= bytes.length) {
    hash = wrap(rotate(hash ^ wrap(BigInt(bytes.readUInt32LE(at)) * P1), 23n) * P2 + P3);
    at += 4;
  }
  for (; at < bytes.length; at++) hash = wrap(rotate(hash ^ wrap(BigInt(bytes[at] ?? 0) * P5), 11n) * P1);
  hash = wrap((hash ^ (hash >> 33n)) * P2);
  hash = wrap((hash ^ (hash >> 29n)) * P3);
  return hash ^ (hash >> 32n);
}
