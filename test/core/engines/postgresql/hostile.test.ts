import { afterEach, describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { RunOptions, Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { grownBy, openHostileServer, pour } from '#test/support/hostile-server.ts';
import { paced } from '#test/support/paced.ts';
import { openTcpProxy } from '#test/support/tcp-proxy.ts';
import { FIXED, READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { until } from '#test/support/until.ts';

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each.close();
});

const SETTINGS: ConnectionSettings = {
  db_type: 'postgresql',
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
  pool_size: 1,
};

function open(port: number, settings = SETTINGS): Source {
  const source = openPostgres({ ...settings, port, ssl_mode: 'disable' }, localPolicy);
  opened.push(source);
  return source;
}

/** A message that claims to be as long as one can be, and its beginning. */
function giant(type: string): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`, 'latin1');
  head.writeUInt32BE(0x7f_ff_ff_ff, 1);
  return head;
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`, 'latin1');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const AUTHENTICATED = message('R', Buffer.from([0, 0, 0, 0]));
const READY = message('Z', Buffer.from('I'));
const ROW = message('D', Buffer.concat([Buffer.from([0, 1, 0, 0, 0x20, 0]), Buffer.alloc(0x20_00, 'x')]));

/** Lets the login pass, and answers the first question after it with `flood` without end. */
const afterLogin = (begin: Buffer, chunk?: Buffer) => (socket: Socket) => {
  let asked = 0;
  socket.on('data', () => {
    asked++;
    if (asked === 1) socket.write(Buffer.concat([AUTHENTICATED, READY]));
    if (asked === 2) {
      socket.write(begin);
      pour(socket, chunk);
    }
  });
};

const atLogin = (begin: Buffer, chunk?: Buffer) => (socket: Socket) =>
  void socket.once('data', () => {
    socket.write(begin);
    pour(socket, chunk);
  });

describe('a PostgreSQL server that sends more than it should', () => {
  const text = Buffer.from('k\0v\0');
  const parameters = Buffer.concat(Array.from({ length: 1_000 }, () => message('S', text)));

  test.each<[string, (socket: Socket) => void]>([
    ['an error without end instead of a login', atLogin(giant('E'))],
    ['parameters without end at the login', atLogin(AUTHENTICATED, parameters)],
    ['an error without end', afterLogin(giant('E'))],
    ['a notice without end', afterLogin(giant('N'))],
    ['a row without end', afterLogin(giant('D'))],
    ['rows that nobody asked for', afterLogin(Buffer.alloc(0), Buffer.concat(Array.from({ length: 100 }, () => ROW)))],
    ['a description without end', afterLogin(giant('T'))],
    ['parameters without end', afterLogin(Buffer.alloc(0), parameters)],
    ['a message behind the end of the login', atLogin(Buffer.concat([AUTHENTICATED, READY, giant('E')]))],
  ])(
    '%s: the call ends at once and without memory',
    async (_, talk) => {
      const server = await openHostileServer(talk);
      opened.push(server);
      for (const mode of [FIXED, READ, WRITE]) {
        const source = open(server.port);
        const began = performance.now();
        const call = refusal(source.query(sql('select 1'), { ...mode, timeout_ms: 3_000 }));
        expect(await grownBy(() => call)).toBeLessThan(64);
        expect((await call).code).toBe('database_unreachable');
        expect(performance.now() - began).toBeLessThan(paced(2_500));
        await until(() => source.sessions() === 0);
      }
    },
    60_000,
  );
});

describe.skipIf(!reachable.postgres)('a PostgreSQL server behind something that turns bad', () => {
  type Turn = (client: Socket) => Buffer | null;

  /** A real server, until `bad` is set: then nothing more of it arrives, but what the turn says, and a deaf one hears nothing more. */
  async function turning(settings: ConnectionSettings, turn: Turn = () => Buffer.alloc(0), is_deaf = false) {
    const state = { bad: false };
    const rules = {
      toClient: (bytes: Buffer, { client }: { client: Socket }) => (state.bad ? turn(client) : bytes),
      toServer: (bytes: Buffer) => (state.bad && is_deaf ? Buffer.alloc(0) : bytes),
    };
    const proxy = await openTcpProxy({ host: settings.host!, port: settings.port! }, rules);
    opened.push(proxy);
    return { state, source: open(proxy.port, { ...settings, pool_size: 2 }) };
  }

  async function withDatabase(work: (database: TestDatabase) => Promise<void>): Promise<void> {
    const database = await testDatabase('postgresql');
    try {
      await work(database);
    } finally {
      for (const each of opened.splice(0).toReversed()) await each.close();
      await database.drop();
    }
  }

  const flood = (begin: Buffer) => {
    const begun = new WeakSet<Socket>();
    return (client: Socket) => {
      if (!begun.has(client)) {
        begun.add(client);
        client.write(begin);
        pour(client);
      }
      return Buffer.alloc(0);
    };
  };

  test.each<[string, RunOptions, string]>(
    ['E', 'N', 'D', 'T'].flatMap((type) =>
      [FIXED, READ, WRITE].map((mode) => [type, mode, mode.mode] as [string, RunOptions, string]),
    ),
  )('%s of any length after the login costs no memory (%#)', (type, mode) =>
    withDatabase(async ({ settings }) => {
      const { state, source } = await turning(settings, flood(giant(type)));
      await source.query(sql('select 1'), mode);
      state.bad = true;
      const call = source.query(sql('select 2'), { ...mode, timeout_ms: 2_000 }).catch((error: unknown) => error);
      expect(await grownBy(() => call)).toBeLessThan(64);
      await until(() => source.sessions() === 0);
    }),
  );

  test.each([
    ['silence', false],
    ['silence that no cancel request ends', true],
  ])(
    '%s: every limit holds, nobody waits for the cancel, and no place is lost',
    (_, is_deaf) =>
      withDatabase(async ({ settings }) => {
        const isSilent = async (mode: RunOptions) => {
          const { state, source } = await turning(settings, undefined, is_deaf);
          await source.query(sql('select 1'), mode);
          state.bad = true;
          const began = performance.now();
          const calls = Array.from({ length: 4 }, () => refusal(source.query(sql('select 1'), { ...mode, timeout_ms: 500 })));
          expect((await Promise.all(calls)).map(({ code }) => code)).toEqual(Array.from({ length: 4 }, () => 'timeout'));
          expect(performance.now() - began).toBeLessThan(paced(1_500));
          state.bad = false;
          const next = await source.query(sql('select 3 as n'), { ...mode, timeout_ms: 9_000 });
          expect(next.rows).toEqual([{ n: 3 }]);
        };
        await Promise.all([FIXED, READ, WRITE].map(isSilent));
      }),
    40_000,
  );
});
