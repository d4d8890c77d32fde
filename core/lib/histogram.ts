/**
 * Durations in ms as counts of logarithmic buckets, mergeable by addition. A quantile read from it is within 2 % of a value
 * that was added, from 0.01 ms on; shorter ones count as 0. Plain JSON: bucket → count.
 */
export type Histogram = Record<string, number>;

const SMALLEST_MS = 0.01;
const GROWTH = 1.04;
/** The bucket of 24 h: nothing is counted above it. */
const LAST = Math.ceil(Math.log(86_400_000 / SMALLEST_MS) / Math.log(GROWTH));

export function addDuration(histogram: Histogram, ms: number): void {
  const bucket = ms <= SMALLEST_MS ? 0 : Math.min(LAST, Math.ceil(Math.log(ms / SMALLEST_MS) / Math.log(GROWTH)));
  histogram[bucket] = (histogram[bucket] ?? 0) + 1;
}

export function mergeInto(histogram: Histogram, other: Readonly<Histogram>): void {
  for (const [bucket, count] of Object.entries(other)) histogram[bucket] = (histogram[bucket] ?? 0) + count;
}

/** The duration in ms that the share `q` (0…1) of what was added does not exceed; 0 when nothing was. */
export function quantile(histogram: Readonly<Histogram>, q: number): number {
  const buckets = Object.entries(histogram)
    .map(([bucket, count]): [number, number] => [Number(bucket), count])
    .toSorted(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let left = Math.max(1, Math.ceil(total * q));
  for (const [bucket, count] of buckets) {
    left -= count;
    if (left <= 0) return toMs(bucket);
  }
  return 0;
}

/** The value that is equally far, relatively, from both ends of its bucket. */
const toMs = (bucket: number): number =>
  bucket === 0 ? 0 : Math.round(((SMALLEST_MS * 2 * GROWTH ** bucket) / (GROWTH + 1)) * 1_000) / 1_000;
