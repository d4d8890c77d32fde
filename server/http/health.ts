import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { AppError } from '#core/errors.ts';
import { reasonOf } from '#core/process/log.ts';
import type { Readiness } from '#core/edge/probes.ts';
import { writeMeta } from '#core/store/meta.ts';

/** A check is reused for this time, so that frequent probes do not load the stores. */
const FRESH_MS = 1_000;
const STORE_MS = 3_000;
const DRAIN_MS = 1_200;

/** Reports blocking faults, and faults with which the server can still work. */
export function createReadiness(app: ControlPlane): () => Promise<Readiness> {
  let looked_at = Number.NEGATIVE_INFINITY;
  let looking: Promise<Readiness> = Promise.resolve({ blocking: [], degraded: [] });
  const writing = createWriteCheck(app);
  return async () => {
    if (app.life.ending) return { blocking: ['The server is shutting down.'], degraded: [] };
    const now = performance.now();
    if (now - looked_at > FRESH_MS) {
      looked_at = now;
      looking = look(app, writing);
    }
    return looking;
  };
}

async function look(app: ControlPlane, writing: () => Promise<string | null>): Promise<Readiness> {
  const { meta } = app.store.tables;
  const [database, refusal, kv] = await Promise.all([
    answers(app.store.db.select({ key: meta.key }).from(meta).limit(1)),
    writing(),
    // Uses a write: a Redis that is full or read-only still answers reads.
    answers(app.kv.increment('readyz', STORE_MS)).then((answered) => answered && app.kv.up()),
  ]);
  const hosts = app.hosts.list().length;
  return {
    blocking: [
      ...(database ? [] : ['The metadata database does not answer.']),
      ...(database && refusal !== null ? [refusal] : []),
    ],
    degraded: [
      ...(kv
        ? []
        : [
            'Redis does not answer, or refuses to run scripts. Every server counts sign-ins and agent calls on its own, and receives changes of other servers within seconds.',
          ]),
      ...(hosts > 0 ? [] : ['No MCP host is connected.']),
    ],
  };
}

/** More than a sign-in writes, so a disk with room for this has room for a sign-in. */
const WRITTEN = 32 * 1_024;
/** After a failure, every check writes again. */
const WRITE_EVERY_MS = 10_000;
/** The probe waits at most this long behind another writer. */
const WRITE_MS = 500;

/** @returns a function that reports why writes fail, as far as it is known; a slow write is not a failure. */
function createWriteCheck(app: ControlPlane): () => Promise<string | null> {
  let next = 0;
  let refusal: string | null = null;
  let running: Promise<void> | null = null;
  const write = async (): Promise<void> => {
    try {
      const value = `${app.clock().toISOString()} `.padEnd(WRITTEN, '.');
      await app.store.write((tx) => writeMeta(app.store, tx, 'readyz', value));
      refusal = null;
      next = performance.now() + WRITE_EVERY_MS;
    } catch (error) {
      if (refusal === null) app.log.warning('the metadata database accepts no writes', { reason: reasonOf(error) });
      refusal = error instanceof AppError ? error.detail : 'The metadata database accepts no writes; the log has the reason.';
    } finally {
      running = null;
    }
  };
  return async () => {
    if (performance.now() >= next) await answers((running ??= write()), WRITE_MS);
    return refusal;
  };
}

function answers(work: PromiseLike<unknown>, within_ms = STORE_MS): Promise<boolean> {
  const answered = work.then(
    () => true,
    () => false,
  );
  return withTimeout(answered, within_ms, () => false);
}

/** Waits for running requests until `DRAIN_MS`; those that take longer are cut off. */
export async function drained(app: ControlPlane): Promise<void> {
  app.life.ending = true;
  const deadline = performance.now() + DRAIN_MS;
  while (app.life.answering > 0 && performance.now() < deadline) await Bun.sleep(10);
}
