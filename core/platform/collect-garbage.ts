/** From so many records on, what the work leaves is worth a collection, which takes a tenth of a second. */
const MANY = 1_000;

/**
 * Collects what work on many records left, once its answer is on its way. By itself the engine would wait until as much again is
 * in use, and it counts the room that the SQL parser reserves: hundreds of MiB.
 */
export function collectAfter(records: number): void {
  if (records >= MANY) setTimeout(() => Bun.gc(true), 0).unref();
}

/**
 * Collects as work on many records goes on, each time after so many: what the work keeps would otherwise lie scattered in the room
 * that its garbage took, and that room is not given back.
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
