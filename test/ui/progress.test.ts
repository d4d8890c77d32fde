import { expect, test } from 'bun:test';
import type { Progress } from '#core/contract/observe/progress.ts';
import { createApi } from '#ui/src/api.ts';
import { createProgress } from '#ui/src/kernel/data/progress.ts';

test('a long change is followed under its own request ID until it is answered', async () => {
  const answer = Promise.withResolvers<Response>();
  let now: Progress | null = { step: 'check', done: 1, of: 2 };
  const asked: string[] = [];
  let sent_as = '';
  const call = createApi({
    onSessionEnd: () => undefined,
    fetch: async (url, { headers }) => {
      if (!url.includes('/progress?')) {
        sent_as = new Headers(headers).get('x-request-id') ?? '';
        return answer.promise;
      }
      asked.push(url);
      return now === null ? Response.json({ detail: 'Away.' }, { status: 503 }) : Response.json({ progress: now });
    },
  });
  let tick = (): void => undefined;
  const timers = { set: (run: () => void) => void (tick = run), clear: () => (tick = () => undefined) };
  const followed = createProgress(call, timers);
  const done = followed.call('history.rollback', { history_id: 'one' });
  expect(followed.progress()).toBeUndefined();
  const look = async () => {
    tick();
    await Bun.sleep(5);
    return followed.progress();
  };
  expect(await look()).toEqual({ step: 'check', done: 1, of: 2 });
  now = { step: 'write', done: 2, of: 2 };
  expect(await look()).toEqual(now);
  // A look that fails is no fault of the change.
  now = null;
  expect(await look()).toBeUndefined();
  expect(new Set(asked)).toEqual(new Set([`/api/v1/progress?request_id=${sent_as}`]));
  answer.resolve(Response.json({ total: 1 }));
  expect(await done).toEqual({ total: 1 } as never);
  const looks = asked.length;
  await look();
  expect([asked.length, followed.progress()]).toEqual([looks, undefined]);
});
