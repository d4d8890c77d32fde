import { afterEach, describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { openMysql } from '#core/engines/mysql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { RunOptions, Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { grownBy, openHostileServer, pour } from '#test/support/hostile-server.ts';
import { paced } from '#test/support/paced.ts';
import { openTcpProxy } from '#test/support/tcp-proxy.ts';
import { FIXED, READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { until } from '#test/support/until.ts';

const opened: { close(): Promise<void> }[] = [];
const closeAll = async () => {
  for (const each of opened.splice(0).toReversed()) await each.close();
};
afterEach(closeAll);

const SETTINGS: ConnectionSettings = {
  db_type: 'mysql',
  host: '127.0.0.1',
  port: null,
  database: 'x',
  username: 'x',
  password: null,
  ssl_mode: 'disable',
  ssl_ca: null,
  ssl_cert: null,
  ssl_key: null,
  extra_params: {},
  pool_size: 2,
};

function open(port: number, settings = SETTINGS): Source {
  const source = openMysql({ ...settings, port, ssl_mode: 'disable' }, localPolicy);
  opened.push(source);
  return source;
}

/** The beginning of a packet as long as one can be, which another one continues. */
const giant = (sequence: number) => Buffer.from([0xff, 0xff, 0xff, sequence]);
const MODES = [FIXED, READ, WRITE];

describe('a MySQL server that sends more than it should', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['a greeting without end', (socket) => (socket.write(giant(0)), pour(socket))],
    ['an error without end', (socket) => (socket.write(Buffer.concat([giant(0), Buffer.from([0xff])])), pour(socket))],
    [
      'greetings without end',
      (socket) => pour(socket, Buffer.concat(Array.from({ length: 1_000 }, () => Buffer.from([1, 0, 0, 0, 10])))),
    ],
  ])(
    '%s: the call ends at once and without memory',
    async (_, talk) => {
      const server = await openHostileServer(talk);
      opened.push(server);
      for (const mode of MODES) {
        const source = open(server.port);
        const began = performance.now();
        const call = refusal(source.query(sql('select 1'), { ...mode, timeout_ms: 3_000 }));
        expect(await grownBy(() => call)).toBeLessThan(64);
        expect((await call).code).toBe('database_unreachable');
        expect(performance.now() - began).toBeLessThan(paced(2_500));
        await until(() => source.sessions() === 0);
        // Nothing goes on being received in the background.
        await until(() => server.connections() === 0);
      }
    },
    60_000,
  );
});

test('a MySQL server that says nothing is hung up on', async () => {
  const server = await openHostileServer(() => {});
  opened.push(server);
  const call = refusal(open(server.port).query(sql('select 1'), { ...FIXED, timeout_ms: 300 }));
  await until(() => server.connections() === 1);
  await call;
  await until(() => server.connections() === 0);
});

describe.skipIf(!reachable.mysql)('a MariaDB server behind something that turns bad', () => {
  interface State {
    bad: boolean;
    /** What is sent instead of the server's answer. */
    readonly turn: (client: Socket) => void;
    /** Answers of a connection that still arrive. */
    patience: number;
  }

  async function turning(settings: ConnectionSettings, changes: Partial<State> = {}) {
    const state: State = { bad: false, turn: () => {}, patience: 0, ...changes };
    const seen = new WeakMap<Socket, number>();
    const rules = {
      toClient(bytes: Buffer, { client }: { client: Socket }) {
        const count = (seen.get(client) ?? 0) + 1;
        seen.set(client, count);
        if (!state.bad || count <= state.patience) return bytes;
        state.turn(client);
        return Buffer.alloc(0);
      },
    };
    const proxy = await openTcpProxy({ host: settings.host!, port: settings.port! }, rules);
    opened.push(proxy);
    return { state, source: open(proxy.port, { ...settings, pool_size: 2 }) };
  }

  async function withDatabase(work: (database: TestDatabase) => Promise<void>): Promise<void> {
    const database = await testDatabase('mysql');
    try {
      await work(database);
    } finally {
      await closeAll();
      await database.drop();
    }
  }

  const floods: readonly (readonly [string, Buffer, Buffer?])[] = [
    ['one packet without end', giant(1)],
    ['an error without end', Buffer.concat([giant(1), Buffer.from([0xff, 1, 0])])],
    [
      'packets without end',
      Buffer.alloc(0),
      Buffer.concat(Array.from({ length: 1_000 }, () => Buffer.from([3, 0, 0, 1, 0, 0, 2]))),
    ],
  ];

  test.each(floods.flatMap(([name, begin, chunk]) => MODES.map((mode) => [name, mode.mode, mode, begin, chunk] as const)))(
    '%s after the login costs no memory (%s)',
    (_, _mode, mode, begin, chunk) =>
      withDatabase(async ({ settings }) => {
        const poured = new WeakSet<Socket>();
        const turn = (client: Socket) => {
          if (poured.has(client)) return;
          poured.add(client);
          client.write(begin);
          pour(client, chunk);
        };
        const { state, source } = await turning(settings, { turn });
        await source.query(sql('select 1'), mode);
        state.bad = true;
        const call = source.query(sql('select 2'), { ...mode, timeout_ms: 2_000 }).catch((error: unknown) => error);
        expect(await grownBy(() => call)).toBeLessThan(96);
        await until(() => source.sessions() === 0);
      }),
    20_000,
  );

  /** How many answers still come: none after the session was there, or those of the login and no more. */
  test.each([
    ['a session that is there', 0],
    ['the greeting', 1],
    ['the login', 2],
    ['the first answer', 3],
  ])(
    'silence after %s: every limit holds, nobody waits for the kill, and no place is lost',
    (_, patience) =>
      withDatabase(async ({ settings }) => {
        const isSilent = async (mode: RunOptions) => {
          const { state, source } = await turning(settings, { patience });
          if (patience === 0) await source.query(sql('select 1'), mode);
          state.bad = true;
          const began = performance.now();
          const calls = Array.from({ length: 4 }, () => refusal(source.query(sql('select 1'), { ...mode, timeout_ms: 500 })));
          expect((await Promise.all(calls)).map(({ code }) => code)).toEqual(Array.from({ length: 4 }, () => 'timeout'));
          expect(performance.now() - began).toBeLessThan(paced(1_500));
          state.bad = false;
          const next = await source.query(sql('select 3 as n'), { ...mode, timeout_ms: 9_000 });
          expect(next.rows).toEqual([{ n: 3 }]);
          state.bad = true;
          const closing = performance.now();
          await source.close();
          expect([source.sessions(), performance.now() - closing < 5_000]).toEqual([0, true]);
        };
        await Promise.all(MODES.map(isSilent));
      }),
    40_000,
  );
});
