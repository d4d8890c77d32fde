import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openStore, type Store } from '#core/db/open.ts';
import { AppError } from '#core/errors.ts';
import { type Fault, type FaultProxy, openFaultProxy } from '#test/faults/fault-proxy.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { until } from '#test/support/programs.ts';

const PATIENCE_MS = 30_000;
const AWAY: readonly Fault[] = ['refused', 'reset', 'half_open', 'garbage'];
const READERS = 30;

describe.skipIf(!reachable.postgres)('the metadata store in PostgreSQL', () => {
  let database: TestDatabase;
  let proxy: FaultProxy;
  let store: Store;
  const faults: unknown[] = [];
  const note = (error: unknown) => void faults.push(error);
  const read = () => store.db.select().from(store.tables.meta).limit(1);
  const insert = (key: string) => store.write((tx) => tx.insert(store.tables.meta).values({ key, value: '' }));
  const keys = async () => (await database.run('select key from meta')).map(({ key }) => String(key));

  beforeAll(async () => {
    process.on('unhandledRejection', note).on('uncaughtException', note);
    database = await testDatabase('postgresql');
    const { port } = new URL(database.url);
    proxy = await openFaultProxy({ host: '127.0.0.1', port: Number(port) });
    store = await openStore(database.url.replace(`:${port}/`, `:${proxy.port}/`));
  });
  afterAll(async () => {
    await store.close();
    await proxy.close();
    await database.drop();
    process.off('unhandledRejection', note).off('uncaughtException', note);
  });

  test.each(AWAY.map((fault) => [fault]))(
    'that is %s in the middle of everything: each caller is told in time, and it heals by itself',
    async (fault) => {
      const gate = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const writing = store.write(async (tx) => {
        await tx.insert(store.tables.meta).values({ key: `half of ${fault}`, value: '' });
        begun.resolve();
        await gate.promise;
        await tx.insert(store.tables.meta).values({ key: `rest of ${fault}`, value: '' });
      });
      const turn = store.exclusive(async () => {
        await gate.promise;
        return 'done all the same';
      });
      await begun.promise;
      proxy.use(fault);
      const waiting = [
        writing,
        insert(`new ${fault}`),
        store.read((tx) => tx.select().from(store.tables.meta)),
        ...Array.from({ length: READERS }, read),
      ];
      await Bun.sleep(200);
      gate.resolve();
      const ended = await Promise.allSettled(waiting.map((work) => Promise.resolve(work)));
      const told = ended.map((result) => (result.status === 'rejected' ? codeOf(result.reason) : 'fine'));
      expect(new Set(told)).toEqual(new Set(['unavailable']));
      expect(await turn).toBe('done all the same');
      proxy.use('none');
      await until(async () => (await read()).length >= 0, PATIENCE_MS);
      await insert(`after ${fault}`);
      expect(await store.exclusive(async () => 'next')).toBe('next');
      expect((await keys()).filter((key) => key.endsWith(fault))).toEqual([`after ${fault}`]);
      expect(faults).toEqual([]);
    },
    90_000,
  );

  test('that is slow is waited for', async () => {
    proxy.use('latency');
    await insert('slow');
    expect(await store.exclusive(async () => 'slow')).toBe('slow');
    proxy.use('none');
    await until(async () => (await read()).length >= 0, PATIENCE_MS);
    expect(await keys()).toContain('slow');
  }, 60_000);

  test('turns of two servers never overlap', async () => {
    const second = await openStore(database.url);
    let working = 0;
    let most = 0;
    const work = async () => {
      working += 1;
      most = Math.max(most, working);
      await Bun.sleep(10);
      working -= 1;
    };
    await Promise.all(Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? store : second).exclusive(work)));
    await second.close();
    expect(most).toBe(1);
  }, 60_000);

  test('is reached over TLS when the URL says so, with a password too, and a certificate is looked at when that is asked', async () => {
    const [{ ssl } = {}] = await database.run('show ssl');
    const role = `sluice_${crypto.randomUUID().slice(0, 8)}`;
    await database.run(`create role ${role} login superuser password 'a password'`);
    const url = new URL(database.url);
    url.username = role;
    url.password = 'a password';
    try {
      for (const mode of ssl === 'on' ? ['disable', 'prefer', 'require'] : ['disable']) {
        url.searchParams.set('sslmode', mode);
        const other = await openStore(url.href);
        expect(await other.db.select().from(other.tables.meta).limit(1)).toHaveLength(1);
        const [row] = await database.run(
          `select ssl from pg_stat_ssl join pg_stat_activity using (pid) where usename = '${role}' and application_name = 'sluice-server' limit 1`,
        );
        expect(row?.['ssl']).toBe(mode !== 'disable');
        await other.close();
      }
      url.searchParams.set('sslmode', 'verify-full');
      expect(
        await openStore(url.href).then(
          () => 'open',
          () => 'refused',
        ),
      ).toBe('refused');
    } finally {
      await database.run(`drop role ${role}`);
    }
  }, 60_000);
});

/** The code that an edge answers with: a library's own fault holds that of the store. */
function codeOf(error: unknown): string {
  for (let fault = error; fault instanceof Error; fault = fault.cause) if (fault instanceof AppError) return fault.code;
  return String(error);
}
