import { afterEach, describe, expect, test } from 'bun:test';
import { fileURLToPath } from 'node:url';
import { endLease, takeLease, withLease } from '#core/cluster/leases.ts';
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

describeOnce(reachable.postgres)('two servers', () => {
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
    const turns = Array.from({ length: 40 }, (_, n) => withLease(servers[n % 2] ?? one.app, 'work', `turn ${n}`, work));
    const done = (await Promise.all(turns)).filter((result) => result === true);
    expect(done.length).toBeGreaterThan(0);
    expect(most).toBe(1);
    const failing = withLease(one.app, 'work', 'a', () => Promise.reject(new Error('on purpose')));
    expect(await failing.catch((error: Error) => error.message)).toBe('on purpose');
    expect(await withLease(other.app, 'work', 'b', work)).toBe(true);
  });

  test('a holder that is killed keeps the work from the other one no longer than its lease', async () => {
    const { other, url } = await twoServers();
    const program = `
      const { testApp } = await import('#test/support/app.ts');
      const { takeLease } = await import('#core/cluster/leases.ts');
      const { app } = await testApp({}, process.argv[1]);
      await takeLease(app, 'work', 'killed', 1.5);
      console.log('taken');
      setInterval(() => takeLease(app, 'work', 'killed', 1.5), 250);
    `;
    const holder = Bun.spawn([process.execPath, '-e', program, url], { cwd: ROOT, stdout: 'pipe', stderr: 'inherit' });
    ends.push(async () => holder.kill('SIGKILL'));
    const said = await holder.stdout.getReader().read();
    expect(Buffer.from(said.value ?? []).toString()).toBe('taken\n');
    const work = () => withLease(other.app, 'work', 'other', async () => true);
    // Longer than one lease: the holder keeps it.
    for (const ends_at = performance.now() + 2_000; performance.now() < ends_at; await Bun.sleep(100))
      expect(await work()).toBeNull();
    holder.kill('SIGKILL');
    await holder.exited;
    await until(async () => (await work()) === true);
  }, 60_000);
});
