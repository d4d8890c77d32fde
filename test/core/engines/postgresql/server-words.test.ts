import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { PipelineSlot, Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { openTcpProxy, type ProxyRules } from '#test/support/tcp-proxy.ts';
import { FIXED, READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { until } from '#test/support/until.ts';

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`, 'latin1');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const READY = message('Z', Buffer.from('I'));
const errorOf = (severity: string, code: string, text: string) =>
  message('E', Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${text}\0\0`));

describe.skipIf(!reachable.postgres)('what a PostgreSQL server or a pooler before it says', () => {
  const opened: { close(): Promise<void> }[] = [];
  let database: TestDatabase;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    await database.run(`create type mood as enum ('glad')`);
  });

  afterEach(async () => {
    for (const each of opened.splice(0).toReversed()) await each.close();
  });

  afterAll(() => database.drop());

  async function through(rules: ProxyRules, changes: Partial<ConnectionSettings> = {}): Promise<Source> {
    const { host, port } = database.settings;
    const proxy = await openTcpProxy({ host: host!, port: port! }, rules);
    const source = openPostgres({ ...database.settings, port: proxy.port, ssl_mode: 'disable', ...changes }, localPolicy);
    opened.push(proxy, source);
    return source;
  }

  /** Answers what contains the text itself, and hangs up. */
  const hangsUpOn = (text: string, words: Buffer): ProxyRules => ({
    toServer(bytes, { client }) {
      if (!bytes.includes(text)) return bytes;
      client.end(words);
      return Buffer.alloc(0);
    },
  });

  test('a pooler that finds no database once it is asked something says so', async () => {
    const source = await through(hangsUpOn("default_transaction_read_only')", errorOf('FATAL', '3D000', 'no such database: x')));
    expect(await refusal(source.query(sql('select 1'), READ))).toMatchObject({
      code: 'database_unreachable',
      reason: 'database_missing',
    });
  });

  test.each([FIXED, READ, WRITE])('a session that the server ends says why (%j)', async (mode) => {
    const words = 'terminating connection due to transaction timeout';
    const source = await through(hangsUpOn('select 42', errorOf('FATAL', '25P04', words)));
    await source.query(sql('select 1'), mode);
    expect(await refusal(source.query(sql('select 42'), mode))).toMatchObject({
      code: 'timeout',
      detail: expect.stringContaining('transaction_timeout') as string,
    });
    expect((await source.query(sql('select 1 as one'), mode)).rows).toEqual([{ one: 1 }]);
  });

  test('a relative of PostgreSQL is not asked for what it may not know', async () => {
    const rules: ProxyRules = {
      toServer(bytes, { client }) {
        if (!bytes.includes('server_version_num')) return bytes;
        const words = 'unrecognized configuration parameter "server_version_num"';
        client.write(Buffer.concat([errorOf('ERROR', '42704', words), READY]));
        return Buffer.alloc(0);
      },
    };
    const source = await through(rules, { db_type: 'redshift' });
    for (const mode of [FIXED, READ, WRITE])
      expect((await source.query(sql('select 1 as one'), mode)).rows).toEqual([{ one: 1 }]);
  });

  test('no name can bring settings of its own into the login', async () => {
    const { database: name, username } = database.settings;
    for (const changes of [
      { database: `${name}\0default_transaction_read_only\0off` },
      { username: `${username}\0application_name\0other` },
    ]) {
      const source = await through({}, changes);
      const error = await refusal(source.query(sql('select 1'), READ));
      expect(error).toMatchObject({ code: 'database_unreachable', detail: expect.stringContaining('NUL') });
      await until(() => source.sessions() === 0);
    }
  });

  test.each([
    [FIXED, false],
    [READ, false],
    [READ, true],
    [WRITE, true],
  ])(
    'more values than the protocol can count are refused, and the session goes on (%j, types: %p)',
    async (mode, is_declared) => {
      const source = await through({}, { pool_size: 1 });
      const pid = sql('select pg_backend_pid() as pid');
      const before = await source.query(pid, mode);
      const values = Array.from({ length: 65_536 }, () => 1);
      const text = `select cardinality(array[${values.map((_, i) => `$${i + 1}`).join()}]::bigint[]) as n`;
      const types = values.map(() => 'integer' as const);
      const declared = is_declared ? values.map(() => 'int8') : undefined;
      expect(await refusal(source.query(sql(text, values, types, declared), mode))).toMatchObject({
        code: 'sql_error',
        detail: expect.stringContaining('65,535'),
      });
      expect((await source.query(pid, mode)).rows).toEqual(before.rows);
    },
  );

  test('as many values as the protocol can count are bound', async () => {
    const source = await through({});
    const values = Array.from({ length: 65_535 }, () => 1);
    const text = `select cardinality(array[${values.map((_, i) => `$${i + 1}`).join()}]::bigint[]) as n`;
    expect((await source.query(sql(text, values), READ)).rows).toEqual([{ n: 65_535 }]);
  });

  test('an array nested too deeply to be read comes as its text, however quick the statement was before', async () => {
    const state = { bad: false };
    const row = message('D', Buffer.from([0, 1, 0, 0, 0, 6, ...Buffer.from('{glad}')]));
    const deep = Buffer.alloc(1_000_000, '{');
    const size = Buffer.alloc(4);
    size.writeUInt32BE(deep.length);
    const source = await through({
      toClient(bytes) {
        const at = state.bad ? bytes.indexOf(row) : -1;
        if (at < 0) return bytes;
        const bad = message('D', Buffer.concat([Buffer.from([0, 1]), size, deep]));
        return Buffer.concat([bytes.subarray(0, at), bad, bytes.subarray(at + row.length)]);
      },
    });
    const statement = sql(`select array['glad']::mood[] as moods`);
    const slots: PipelineSlot[] = [];
    await until(async () => {
      await source.query(statement, FIXED);
      const slot = source.pipelineSlot?.(statement, 2) ?? null;
      if (slot !== null) slots.push(slot);
      return slot !== null;
    });
    state.bad = true;
    const answer = await Promise.race([slots[0]?.query(FIXED), Bun.sleep(2_000)]);
    expect(answer?.rows).toEqual([{ moods: deep.toString() }]);
    state.bad = false;
    expect((await source.query(statement, FIXED)).rows).toEqual([{ moods: ['glad'] }]);
  });
});
