import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { lockEntityWrites } from '#core/store/journal.ts';
import { openStore } from '#core/store/open.ts';
import { TURN_TAKEN } from '#core/store/turns.ts';
import { AppError } from '#core/errors.ts';
import { type Fault, openFaultProxy } from '#test/faults/fault-proxy.ts';
import { createAuthority } from '#test/support/certificates.ts';
import { canCreateCluster, createCluster, PASSWORD } from '#test/support/postgres-cluster.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { until } from '#test/support/until.ts';

const AWAY: readonly Fault[] = ['refused', 'reset', 'half_open', 'garbage'];
const READERS = 30;

describe.skipIf(!reachable.postgres)('the metadata store in PostgreSQL', () => {
  const ends: (() => Promise<unknown>)[] = [];
  afterAll(() => Promise.all(ends.map((end) => end())), 20_000);

  /** A store of its own, whose server can be taken away. */
  const open = async () => {
    const database = await testDatabase('postgresql');
    const { port } = new URL(database.url);
    const proxy = await openFaultProxy({ host: '127.0.0.1', port: Number(port) });
    const store = await openStore(database.url.replace(`:${port}/`, `:${proxy.port}/`));
    ends.push(async () => {
      await store.close();
      await proxy.close();
      await database.drop();
    });
    return {
      database,
      proxy,
      store,
      read: () => store.db.select().from(store.tables.meta).limit(1),
      insert: (key: string) => store.write((tx) => tx.insert(store.tables.meta).values({ key, value: '' })),
      keys: async () => (await database.run('select key from meta')).map(({ key }) => String(key)),
    };
  };

  test.concurrent.each(AWAY.map((fault) => [fault]))(
    'that is %s in the middle of everything: each caller is told in time, and it heals by itself',
    async (fault) => {
      const { proxy, store, read, insert, keys } = await open();
      const gate = Promise.withResolvers<void>();
      const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
      const writing = store.write(async (tx) => {
        await tx.insert(store.tables.meta).values({ key: `half of ${fault}`, value: '' });
        begun[0].resolve();
        await gate.promise;
        await tx.insert(store.tables.meta).values({ key: `rest of ${fault}`, value: '' });
      });
      const turn = store.exclusive(async () => {
        begun[1].resolve();
        await gate.promise;
        return 'done all the same';
      });
      await Promise.all(begun.map(({ promise }) => promise));
      proxy.use(fault);
      const ended = Promise.allSettled([
        writing,
        insert(`new ${fault}`),
        store.read((tx) => tx.select().from(store.tables.meta)),
        ...Array.from({ length: READERS }, () => Promise.resolve(read())),
      ]);
      await Bun.sleep(200);
      gate.resolve();
      const told = (await ended).map((result) => (result.status === 'rejected' ? codeOf(result.reason) : 'fine'));
      expect(new Set(told)).toEqual(new Set(['unavailable']));
      expect(await turn).toBe('done all the same');
      proxy.use('none');
      await until(async () => (await read()).length >= 0);
      await insert(`after ${fault}`);
      expect(await store.exclusive(async () => 'next')).toBe('next');
      expect((await keys()).filter((key) => key.endsWith(fault))).toEqual([`after ${fault}`]);
    },
    90_000,
  );

  test.concurrent('that is slow is waited for', async () => {
    const { proxy, store, read, insert, keys } = await open();
    proxy.use('latency');
    await insert('slow');
    expect(await store.exclusive(async () => 'slow')).toBe('slow');
    proxy.use('none');
    await until(async () => (await read()).length >= 0);
    expect(await keys()).toContain('slow');
  }, 60_000);

  test.concurrent('says so when another server writes for long', async () => {
    const { database, store } = await open();
    const second = await openStore(database.url);
    const gate = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const importing = second.write(async (tx) => {
      await lockEntityWrites(second, tx);
      locked.resolve();
      await gate.promise;
    });
    await locked.promise;
    const refused = await store.write((tx) => lockEntityWrites(store, tx)).catch((error: unknown) => appErrorIn(error));
    expect([refused?.code, refused?.retry_after]).toEqual(['unavailable', 5]);
    expect(refused?.detail).toContain('is still being written');
    gate.resolve();
    await importing;
    await store.write((tx) => lockEntityWrites(store, tx));
    await second.close();
  }, 60_000);

  test('a turn that another server does not end is refused after a time, with its holder', async () => {
    const { database, store } = await open();
    const second = await openStore(database.url);
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const holding = second.exclusive(
      async () => {
        begun.resolve();
        await gate.promise;
      },
      { turn: 'deploy', by: 'Zoë' },
    );
    await begun.promise;
    const waiting = { turn: 'deploy', wait_ms: 300 } as const;
    const refused = await store.exclusive(async () => undefined, waiting).catch((error: unknown) => appErrorIn(error));
    expect(refused).toMatchObject({ code: 'conflict', retry_after: 5, reason: TURN_TAKEN });
    expect(refused?.detail).toMatch(/^A deploy that Zoë began at \d{4}-\S+Z on the server \S+ has not finished yet\./);
    const client = new AbortController();
    const dropped = store.exclusive(async () => 'never', { turn: 'deploy', signal: client.signal });
    setTimeout(() => client.abort(), 100);
    expect(await dropped.catch((error: unknown) => appErrorIn(error)?.code)).toBe('cancelled');
    // Other turns are free.
    expect(await store.exclusive(async () => 'switched', { turn: 'switch', wait_ms: 300 })).toBe('switched');
    gate.resolve();
    await holding;
    expect(await store.exclusive(async () => 'next', waiting)).toBe('next');
    await second.close();
  }, 60_000);

  test('turns of two servers never overlap', async () => {
    const { database, store } = await open();
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
});

describe.skipIf(!canCreateCluster)('the metadata store over TLS', () => {
  test('encrypts when the URL says so, and looks at the certificate when that is asked', async () => {
    const authority = await createAuthority('Metadata');
    const folder = mkdtempSync(join(tmpdir(), 'sluice-ca-'));
    const ca = join(folder, 'ca.pem');
    writeFileSync(ca, authority.ca);
    const cluster = await createCluster(authority.ca, await authority.issue('DNS:localhost'));
    const open = async (host: string, mode: string, root?: string) => {
      const url = new URL(`postgres://postgres@${host}:${cluster.port}/postgres?sslmode=${mode}`);
      url.password = PASSWORD;
      if (root !== undefined) url.searchParams.set('sslrootcert', root);
      const store = await openStore(url.href);
      const [row] = await store.read((tx) =>
        tx.select({ ssl: sql<boolean>`ssl` }).from(sql`pg_stat_ssl where pid = pg_backend_pid()`),
      );
      await store.close();
      return row?.ssl;
    };
    try {
      expect(await open('127.0.0.1', 'disable')).toBe(false);
      for (const mode of ['prefer', 'require']) expect(await open('127.0.0.1', mode)).toBe(true);
      expect(await open('localhost', 'verify-full', ca)).toBe(true);
      expect(await open('127.0.0.1', 'verify-ca', ca)).toBe(true);
      for (const [host, mode, root] of [
        ['127.0.0.1', 'verify-full', ca],
        ['localhost', 'verify-full', undefined],
      ] as const) {
        expect(
          await open(host, mode, root).then(
            () => 'open',
            () => 'refused',
          ),
        ).toBe('refused');
      }
    } finally {
      await cluster.remove();
      rmSync(folder, { recursive: true, force: true });
    }
  }, 90_000);
});

/** The code that an edge answers with: a library's own fault holds that of the store. */
const codeOf = (error: unknown): string => appErrorIn(error)?.code ?? String(error);

function appErrorIn(error: unknown): AppError | undefined {
  for (let fault = error; fault instanceof Error; fault = fault.cause) if (fault instanceof AppError) return fault;
  return undefined;
}
