import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { connectClient, type McpClient } from '#test/support/mcp-clients.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { FAULTS, type FaultProxy, openFaultProxy } from './fault-proxy.ts';
import { createRandom } from '#test/support/chance.ts';
import { rounds } from './random.ts';
import { until } from '#test/support/until.ts';

/** A caller of a tool whose database is behind a bad network gets an answer in time and a sentence, and the next call works. */
const random = createRandom();
const ROUNDS = rounds(1);
const TIMEOUT_MS = 1_200;
/** More than the tool's own limit, a dial's and a cancel's together. */
const PATIENCE_MS = 15_000;

interface Queues {
  readonly connections: Readonly<Record<string, { readonly active: number; readonly waiting: number }>>;
}

const KINDS = [
  { db_type: 'postgresql', kind: 'postgresql', up: reachable.postgres },
  { db_type: 'mariadb', kind: 'mysql', up: reachable.mysql },
] as const;

for (const { db_type, kind, up } of KINDS) {
  describe.skipIf(!up)(`between host and ${db_type}`, () => {
    let database: TestDatabase;
    let proxy: FaultProxy;
    let programs: Programs;
    let client: McpClient;

    beforeAll(async () => {
      database = await testDatabase(kind);
      await database.run('create table items (id int primary key, name varchar(20))');
      await database.run("insert into items values (1, 'Atlas')");
      proxy = await openFaultProxy({ host: database.settings.host ?? '', port: database.settings.port ?? 0 });
      programs = await startPrograms({ env: { SVC_DEMO: 'false' } });
      await programs.signIn();
      const { id: connection_id } = await programs.api<{ id: string }>('POST', '/connections', {
        name: 'shop',
        db_type,
        host: '127.0.0.1',
        port: proxy.port,
        database: database.settings.database,
        username: database.settings.username,
        ssl_mode: 'disable',
        query_timeout_ms: TIMEOUT_MS,
      });
      const tool = { connection_id, description: 'Items', timeout_ms: TIMEOUT_MS };
      await programs.api('POST', '/tools', {
        ...tool,
        name: 'items',
        sql_query: 'select id, name from items where id = :id',
        parameters: [{ name: 'id', type: 'integer' }],
      });
      await programs.api('POST', '/deploy', {});
      client = await connectClient('v2', programs.mcp_url);
    }, 60_000);

    afterAll(async () => {
      await client.close();
      await programs.stop();
      removeFolder(programs);
      await proxy.close();
      await database.drop();
    }, 60_000);

    const call = () => client.call('items', { id: 1 });

    test(
      `every fault is told in time, and over as soon as the network is (seed ${random.seed})`,
      async () => {
        for (let round = 0; round < ROUNDS; round++) {
          for (const fault of FAULTS.toSorted(() => random.whole(3) - 1)) {
            expect((await call()).structuredContent).toMatchObject({ rows: [{ name: 'Atlas' }] });
            const idle = random.whole(2) === 0;
            const calls = idle ? [] : [call(), call()];
            proxy.use(fault);
            const since = performance.now();
            const answers = await Promise.all([...calls, call(), call()]);
            expect(performance.now() - since).toBeLessThan(PATIENCE_MS);
            for (const { isError, content, structuredContent } of answers) {
              const sentence = content[0]?.text ?? '';
              const told =
                isError === true
                  ? /^[A-Z][^\n]{20,}[.!]$/s.test(sentence) && !/ECONN|undefined|Error:|socket hang/.test(sentence)
                  : Array.isArray(structuredContent?.['rows']);
              expect({ fault, told, sentence }).toMatchObject({ fault, told: true });
            }
            proxy.use('none');
            let last: unknown;
            await until(
              async () => ((last = await call()), (last as { isError?: boolean }).isError !== true),
              () => `${fault}: ${JSON.stringify(last)}`,
            );
          }
        }
        // No place in a queue was lost on the way; a host tells its queues once a second.
        let queues: unknown;
        await until(
          async () => {
            const { connections } = await programs.api<Queues>('GET', '/queue/metrics');
            queues = connections;
            return Object.values(connections).every(({ active, waiting }) => active + waiting === 0);
          },
          () => JSON.stringify(queues),
        );
      },
      120_000 * ROUNDS,
    );
  });
}
