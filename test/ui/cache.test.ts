import { expect, test } from 'bun:test';
import { createApi } from '#ui/src/api.ts';
import { createCache, type Cache } from '#ui/src/kernel/data/cache.ts';

/** A cache over the real client; the network below it counts, and answers when it is told to. */
function cacheOver(answer: (path: string) => unknown, { held = false } = {}) {
  const asked: string[] = [];
  const given_up: string[] = [];
  const waiting: (() => void)[] = [];
  let at = 0;
  const call = createApi({
    onSessionEnd: () => {},
    onChanged: (source) => cache.invalidate(source),
    fetch: async (url, { method, signal }) => {
      asked.push(`${method} ${url.replace('/api/v1', '')}`);
      signal?.addEventListener('abort', () => given_up.push(url));
      const body = answer(url);
      if (held) await new Promise<void>((resolve) => waiting.push(resolve));
      return body instanceof Response ? body : Response.json(body);
    },
  });
  const cache: Cache = createCache(call, () => at);
  return { cache, call, asked, given_up, pass: (ms: number) => (at += ms), go: () => waiting.splice(0).forEach((one) => one()) };
}

const list = (cache: Cache) => cache.query((read) => read('tools.list', { limit: 5 }));
const LIST = 'GET /tools?limit=5';

test('queries of one list share a request, and a later one shows what is known while it asks', async () => {
  let total = 1;
  const { cache, asked, pass } = cacheOver(() => ({ items: [], total }));
  const [one, other] = [list(cache), list(cache)];
  await Promise.all([one.show(), other.show()]);
  expect(asked).toEqual([LIST]);
  expect([one.data()?.total, other.data()?.total]).toEqual([1, 1]);

  pass(5_000);
  total = 2;
  const later = list(cache);
  const shown = later.show();
  await Bun.sleep(0);
  await shown;
  expect(asked).toEqual([LIST, LIST]);
  // Everybody who shows the list has the newer one.
  expect([one, other, later].map((query) => query.data()?.total)).toEqual([2, 2, 2]);
});

test('a change reads again what it made untrue, and nothing else', async () => {
  let total = 1;
  const { cache, call, asked } = cacheOver((path) => (path.includes('/tools') ? { items: [], total } : { series: [] }));
  const [tools, metrics] = [list(cache), cache.query((read) => read('metrics.stats', { period: '24h' }))];
  await Promise.all([tools.show(), metrics.show()]);
  total = 2;
  await call('tools.delete', { id: 'a' });
  await tools.reload();
  expect(tools.data()?.total).toBe(2);
  expect(asked.filter((line) => line.startsWith('GET'))).toEqual([LIST, 'GET /metrics/stats?period=24h', LIST]);
});

test('what nobody shows is not read again by a change, and not shown as if it were still true', async () => {
  let total = 1;
  const { cache, call, asked } = cacheOver(() => ({ items: [], total }));
  const first = list(cache);
  await first.show();
  first.close();
  total = 2;
  await call('tools.delete', { id: 'a' });
  expect(asked).toEqual([LIST, 'DELETE /tools/a']);
  const second = list(cache);
  const seen: unknown[] = [];
  const showing = second.show();
  seen.push(second.data());
  await showing;
  expect([...seen, second.data()?.total]).toEqual([undefined, 2]);
});

test('the record under an open form stays as it is while others of its kind change', async () => {
  let name = 'a';
  const { cache, call, pass } = cacheOver(() => ({ id: '1', name }));
  const form = cache.query((read) => read('tools.get', { id: '1' }));
  await form.show();
  name = 'b';
  await call('tools.update', { id: '2', title: 'x', version: 1 });
  await Bun.sleep(0);
  expect(form.data()?.name).toBe('a');
  // Whoever opens it now begins with what is stored.
  pass(5_000);
  const other = cache.query((read) => read('tools.get', { id: '1' }));
  await other.show();
  expect(other.data()?.name).toBe('b');
});

test('a query that moves on gives up what nobody waits for any more', async () => {
  const { cache, given_up, go } = cacheOver(() => ({ items: [], total: 0 }), { held: true });
  let search = 'a';
  const found = cache.query((read) => read('tools.list', { search }));
  void found.show();
  search = 'ab';
  const second = found.show();
  go();
  await second;
  expect(given_up).toEqual(['/api/v1/tools?search=a']);
  void found.reload();
  found.close();
  await Bun.sleep(0);
  go();
});

test('what one waits for is replaced by what a reload asks for, and a refusal reaches everybody who waits', async () => {
  let answer: () => unknown = () => ({ items: [], total: 1 });
  const { cache, asked, pass, go } = cacheOver(() => answer(), { held: true });
  const [one, other] = [list(cache), list(cache)];
  const first = one.show();
  await Bun.sleep(0);
  pass(500);
  answer = () => ({ items: [], total: 2 });
  const second = other.reload();
  await Bun.sleep(0);
  go();
  await Promise.all([first, second]);
  expect([one.data()?.total, other.data()?.total, asked.length]).toEqual([2, 2, 2]);

  pass(5_000);
  answer = () => Response.json({ code: 'internal', detail: 'It failed.', errors: [] }, { status: 500 });
  const both = Promise.all([one.reload(), other.reload()]);
  await Bun.sleep(0);
  go();
  await both;
  expect([one.problem()?.detail, other.problem()?.detail]).toEqual(['It failed.', 'It failed.']);
  expect([one.data()?.total, one.pending(), other.pending()]).toEqual([2, false, false]);
});
