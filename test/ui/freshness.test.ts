import { expect, test } from 'bun:test';
import { type OperationName, operations, type Output } from '#core/contract/index.ts';
import type { Call } from '#ui/src/api.ts';
import { createCache, type Read } from '#ui/src/kernel/data/cache.ts';
import { changedBy, freshnessOf, isEdited, sourcesOf } from '#ui/src/kernel/data/freshness.ts';
import { createRefresher } from '#ui/src/kernel/data/refresher.ts';

const names = Object.keys(operations) as OperationName[];

test('every read of the contract has an entry, and every change outdates an answer', () => {
  const reads = names.filter((name) => operations[name].method === 'GET');
  expect(reads.filter((name) => freshnessOf(name) === undefined)).toEqual([]);
  const sources = new Set(reads.flatMap(sourcesOf));
  const changes = names.filter((name) => changedBy(name, operations[name].method, {}) !== undefined);
  expect(changes.filter((name) => !sources.has(changedBy(name, 'POST', {}) ?? ''))).toEqual([]);
  expect(changes.filter((name) => operations[name].method === 'GET')).toEqual([]);
  expect(names.filter((name) => isEdited(name) && !changes.includes(name.replace(/get$/, 'update') as OperationName))).toEqual(
    [],
  );
  // A test of a connection leaves nothing behind, so fifty of them reload no list.
  for (const name of ['preview.tool', 'connections.test'] as const) expect(changes).not.toContain(name);
  expect(changedBy('deploy.run', 'POST', { dry_run: true })).toBeUndefined();
});

/** A page with a clock that the test moves, and the times of its requests. */
function pageOf(load: (read: Read) => Promise<unknown>) {
  let at = 0;
  let isThere = true;
  let due: (() => void) | undefined;
  const outdated = new Set<OperationName>();
  const sent: { readonly name: OperationName; readonly at: number }[] = [];
  const call = ((name: OperationName) => {
    sent.push({ name, at });
    outdated.delete(name);
    return Promise.resolve({ items: [], total: 0 } as unknown as Output<'tools.list'>);
  }) as unknown as Call;
  const refresher = createRefresher({
    isOld: (name) => outdated.has(name),
    here: () => isThere,
    now: () => at,
    timers: { set: (run) => (due = run), clear: () => undefined },
  });
  const query = createCache(call, () => at, refresher).query(load);
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      at += 1_000;
      due?.();
      await Bun.sleep(0);
    }
  };
  return {
    query,
    pass,
    sent,
    outdate: (name: OperationName) => outdated.add(name),
    setHere: (here: boolean) => (isThere = here),
  };
}

test('an idle page sends at most four requests in any minute, whatever it shows', async () => {
  const shown: OperationName[] = [
    'server.health',
    'metrics.stats',
    'metrics.timeseries',
    'logs.list',
    'queue.metrics',
    'history.list',
    'deploy.status',
    'deploy.diff',
    'insights.list',
    'ssl.status',
    'notices.events',
    'proposals.list',
    'auth.me',
    'connections.types',
  ];
  const { query, pass, sent } = pageOf(async (read) => Promise.all(shown.map((name) => read(name, {}))));
  await query.show();
  expect(sent.splice(0)).toHaveLength(shown.length);
  await pass(1_200);
  for (const { at } of sent) expect(sent.filter((one) => one.at >= at && one.at < at + 60_000).length).toBeLessThanOrEqual(4);
  // The clock alone changes these, and the others are read in case a notification was lost.
  expect(new Set(sent.map(({ name }) => name))).toEqual(new Set(shown.filter((name) => name !== 'connections.types')));
  query.close();
  sent.splice(0);
  await pass(600);
  expect(sent).toEqual([]);
});

test('an outdated answer is read again at once, metrics at a distance, nothing while the page is hidden', async () => {
  const { query, pass, sent, outdate, setHere } = pageOf(async (read) =>
    Promise.all([read('tools.list', {}), read('metrics.stats', { period: '1h' }), read('tools.get', { id: 'a' })]),
  );
  await query.show();
  await pass(2);
  sent.splice(0);
  for (const name of ['tools.list', 'metrics.stats', 'tools.get'] as const) outdate(name);
  await pass(1);
  // The record under a form stays, and metrics are read every 15 seconds.
  expect(sent.splice(0).map(({ name }) => name)).toEqual(['tools.list']);
  await pass(14);
  expect(sent.splice(0).map(({ name }) => name)).toEqual(['metrics.stats']);
  setHere(false);
  outdate('tools.list');
  await pass(30);
  expect(sent.splice(0)).toEqual([]);
  setHere(true);
  await pass(1);
  expect(sent.splice(0).map(({ name }) => name)).toEqual(['tools.list']);
  query.close();
});
