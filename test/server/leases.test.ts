import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { fileURLToPath } from 'node:url';
import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { endLease, type Lease, LeaseLost, takeLease, withLease } from '#core/platform/leases.ts';
import { readMeta, writeMeta } from '#core/store/meta.ts';
import { createRepeats } from '#server/http/idempotency.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { describeOnce } from '#test/support/metadata.ts';
import { until } from '#test/support/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** Two servers of one database. */
async function twoServers(): Promise<{ one: TestApp; other: TestApp; url: string }> {
  const database = await testDatabase('postgresql');
  const one = await testApp({}, database.url);
  const other = await testApp({}, database.url);
  ends.push(
    () => database.drop(),
    () => one.close(),
    () => other.close(),
  );
  return { one, other, url: database.url };
}

describe('embedded', () => {
  test('a lease is of one holder, is kept by it, and ends with its time or when it is given back', async () => {
    const t = await testApp();
    ends.push(() => t.close());
    const { app } = t;
    expect(await takeLease(app, 'work', 'a', 1)).toBe(true);
    expect(await takeLease(app, 'work', 'b', 1)).toBe(false);
    expect(await takeLease(app, 'other work', 'b', 1)).toBe(true);
    expect(await takeLease(app, 'work', 'a', 60)).toBe(true);
    await endLease(app, 'work', 'b');
    expect(await takeLease(app, 'work', 'b', 1)).toBe(false);
    await endLease(app, 'work', 'a');
    expect(await takeLease(app, 'work', 'b', 0.2)).toBe(true);
    await until(() => takeLease(app, 'work', 'a', 1));
  });

  test('a lease of a time when the clock was ahead keeps nobody from the work', async () => {
    const t = await testApp();
    ends.push(() => t.close());
    const { leases } = t.app.store.tables;
    const ahead = { name: 'work', holder: 'a', until: Date.now() / 1_000 + 86_400 };
    await t.app.store.write((tx) => tx.insert(leases).values(ahead));
    expect(await takeLease(t.app, 'work', 'b')).toBe(true);
    expect(await takeLease(t.app, 'work', 'a')).toBe(false);
  });
});

describe('a lost lease', () => {
  let t: TestApp;
  let app: ControlPlane;
  beforeEach(async () => {
    t = await testApp({}, undefined, { metadata: 'sqlite' });
    ends.push(() => t.close());
    app = t.app;
  });
  /** As after a pause that was longer than the lease. */
  const takeAway = () => app.store.write((tx) => tx.update(app.store.tables.leases).set({ holder: 'another' }));
  const note = (held: ControlPlane, key: string) => held.store.write((tx) => writeMeta(held.store, tx, key, 'done'));
  const noted = (key: string) => readMeta(app.store, app.store.db, key);

  test('refuses what its holder would write, and whatever it asks somebody else', async () => {
    const done = await withLease(app, 'work', async (held, lease) => {
      await note(held, 'before');
      await lease.check();
      await takeAway();
      expect(await lease.check().catch((error: unknown) => error)).toBeInstanceOf(LeaseLost);
      expect(lease.lost.aborted).toBe(true);
      await note(held, 'after');
      return true;
    });
    expect([done, await noted('before'), await noted('after')]).toEqual([null, 'done', null]);
    // It is still that of the other one.
    expect(await takeLease(app, 'work', 'third')).toBe(false);
    expect(t.log.map(({ message }) => message)).toContain('work was left to another server');
  });

  test('is not the one that the same server takes later', async () => {
    const first = await withLease(app, 'work', async (held) => {
      await takeAway();
      await endLease(app, 'work', 'another');
      expect(await withLease(app, 'work', async () => true)).toBe(true);
      await note(held, 'late');
      return true;
    });
    expect([first, await noted('late')]).toEqual([null, null]);
  });

  test('is noticed while work waits, also when the metadata database is away for longer than it lasts', async () => {
    const waits = (_: ControlPlane, { lost }: Lease) =>
      new Promise<void>((_done, fail) => lost.addEventListener('abort', () => fail(lost.reason)));
    const taken = withLease(app, 'work', waits, { seconds: 20, renew_ms: 5 });
    await until(() => t.app.store.db.$count(app.store.tables.leases).then((count) => count === 1));
    await takeAway();
    expect(await taken).toBeNull();
    let away = false;
    const write: ControlPlane['store']['write'] = (work) => (away ? Promise.reject(new Error('away')) : app.store.write(work));
    const cut = { ...app, store: { ...app.store, write } };
    const lost = withLease(cut, 'other work', waits, { seconds: 0.05, renew_ms: 5 });
    await until(() => app.store.db.$count(app.store.tables.leases).then((count) => count === 2));
    away = true;
    expect(await lost).toBeNull();
  });

  test('leaves what follows the work in the background alone', async () => {
    const held = await withLease(app, 'work', async (inside) => inside);
    if (held !== null) await note(held, 'later');
    expect(await noted('later')).toBe('done');
  });
});

describeOnce(reachable.postgres)('two servers', () => {
  test('create once what a caller sends again, when the first loses its lease on the way', async () => {
    const { one } = await twoServers();
    const { app } = one;
    const repeats = createRepeats(app);
    let attempts = 0;
    const create = async (held: ControlPlane) => {
      attempts += 1;
      const { leases } = app.store.tables;
      // Another server had it, and has ended by now.
      if (attempts === 1) await app.store.write((tx) => tx.update(leases).set({ holder: 'another', until: 0 }));
      return held.store.write(async (tx) => {
        await tx.insert(held.store.tables.meta).values({ key: 'made', value: String(attempts) });
        return attempts;
      });
    };
    const actor = { type: 'admin', id: 'ada', name: 'ada', scopes: [] } as const;
    const made = await repeats({ key: 'k', call: { actor }, name: 'tools.create', input: {} }, create);
    expect([made, attempts, await readMeta(app.store, app.store.db, 'made')]).toEqual([2, 2, '2']);
  });

  test('never do the same work at once, and what fails gives its lease back', async () => {
    const { one, other } = await twoServers();
    let working = 0;
    let most = 0;
    const work = async () => {
      working += 1;
      most = Math.max(most, working);
      await Bun.sleep(20);
      working -= 1;
      return true;
    };
    const servers = [one.app, other.app];
    const turns = Array.from({ length: 40 }, (_, n) => withLease(servers[n % 2] ?? one.app, 'work', work));
    const done = (await Promise.all(turns)).filter((result) => result === true);
    expect(done.length).toBeGreaterThan(0);
    expect(most).toBe(1);
    const failing = withLease(one.app, 'work', () => Promise.reject(new Error('on purpose')));
    expect(await failing.catch((error: Error) => error.message)).toBe('on purpose');
    expect(await withLease(other.app, 'work', work)).toBe(true);
  });

  test('a holder that is killed keeps the work from the other one no longer than its lease', async () => {
    const { other, url } = await twoServers();
    const program = `
      const { testApp } = await import('#test/support/app.ts');
      const { takeLease } = await import('#core/platform/leases.ts');
      const { app } = await testApp({}, process.argv[1]);
      await takeLease(app, 'work', 'killed', 1.5);
      console.log('taken');
      setInterval(() => takeLease(app, 'work', 'killed', 1.5), 250);
    `;
    const holder = Bun.spawn([process.execPath, '-e', program, url], { cwd: ROOT, stdout: 'pipe', stderr: 'inherit' });
    ends.push(async () => holder.kill('SIGKILL'));
    const said = await holder.stdout.getReader().read();
    expect(Buffer.from(said.value ?? []).toString()).toBe('taken\n');
    const work = () => withLease(other.app, 'work', async () => true);
    // Longer than one lease: the holder keeps it.
    for (const ends_at = performance.now() + 2_000; performance.now() < ends_at; await Bun.sleep(100))
      expect(await work()).toBeNull();
    holder.kill('SIGKILL');
    await holder.exited;
    await until(async () => (await work()) === true);
  }, 60_000);
});
