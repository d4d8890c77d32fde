/** Minimum number of records for a garbage collection, which takes 100 ms. */
const MANY = 1_000;

/**
 * Collects garbage after work on many records, once the response is sent. The engine would wait until memory use has doubled,
 * counting hundreds of MiB that the SQL parser reserves.
 */
export function collectAfter(records: number): void {
  if (records >= MANY) setTimeout(() => Bun.gc(true), 0).unref();
}

/**
 * Collects garbage during work on many records, after every `MANY` of them. Otherwise results are scattered between garbage, and
 * that memory is not returned to the system.
 */
export function createCollection(): (records: number) => void {
  let since = 0;
  return (records) => {
    since += records;
    if (since < MANY) return;
    since = 0;
    Bun.gc(true);
  };
}
