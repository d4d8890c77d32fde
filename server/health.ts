import type { App } from '#core/app.ts';
import type { Readiness } from '#core/probes.ts';

/** One look serves every probe of a moment, so that asking costs the stores nothing. */
const FRESH_MS = 1_000;
const STORE_MS = 3_000;
const DRAIN_MS = 1_200;

/** What the server can work without, and what not. */
export function createReadiness(app: App): () => Promise<Readiness> {
  let looked_at = Number.NEGATIVE_INFINITY;
  let looking: Promise<Readiness> = Promise.resolve({ blocking: [], degraded: [] });
  return async () => {
    if (app.life.ending) return { blocking: ['The server is ending.'], degraded: [] };
    const now = performance.now();
    if (now - looked_at > FRESH_MS) {
      looked_at = now;
      looking = look(app);
    }
    return looking;
  };
}

async function look(app: App): Promise<Readiness> {
  const { meta } = app.store.tables;
  const [database, kv] = await Promise.all([
    answers(app.store.db.select({ key: meta.key }).from(meta).limit(1)),
    // With the command that counts: a Redis that is full or read-only still answers a question.
    answers(app.kv.increment('readyz', STORE_MS)).then((answered) => answered && app.kv.up()),
  ]);
  const hosts = app.hosts.list().length;
  return {
    blocking: database ? [] : ['The metadata database does not answer.'],
    degraded: [
      ...(kv
        ? []
        : [
            'Redis does not answer, or refuses to run scripts: every server counts sign-ins and agents’ calls by itself, and hears of the others within seconds.',
          ]),
      ...(hosts > 0 ? [] : ['No MCP host is connected.']),
    ],
  };
}

async function answers(work: PromiseLike<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), STORE_MS);
  const answered = Promise.resolve(work).then(
    () => true,
    () => false,
  );
  const result = await Promise.race([answered, late.promise]);
  clearTimeout(timer);
  return result;
}

/** Waits for the requests that are being answered; those that take longer are cut off. */
export async function drained(app: App): Promise<void> {
  app.life.ending = true;
  const deadline = performance.now() + DRAIN_MS;
  while (app.life.answering > 0 && performance.now() < deadline) await Bun.sleep(10);
}
