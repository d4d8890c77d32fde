import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { openClickhouse } from '#core/engines/clickhouse/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy } from '#test/support/databases.ts';
import { grownBy } from '#test/support/hostile-server.ts';
import { paced } from '#test/support/paced.ts';
import { READ, refusal, sql } from '../shared/suite.ts';
import { SETTINGS } from './fixture.ts';

const opened: (() => Promise<unknown>)[] = [];
const asked: string[] = [];

afterEach(() => void asked.splice(0));
afterAll(async () => {
  for (const close of opened) await close();
});

type Answer = (text: string) => Response | Promise<Response>;

/** What a ClickHouse server must never be trusted to be: only its hostile answers are played here. */
function hostile(answer: Answer, settings: Partial<ConnectionSettings> = {}): Source {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const text = await request.text();
      asked.push(`${request.headers.get('accept-encoding')} ${text}`);
      if (text.startsWith('KILL')) return new Response('');
      return text.includes('system.settings') ? ability() : answer(text);
    },
  });
  const source = openClickhouse({ ...SETTINGS, port: server.port!, pool_size: 1, ...settings }, localPolicy);
  opened.push(
    () => source.close(),
    () => server.stop(true),
  );
  return source;
}

const answered = (meta: readonly object[], rows: readonly unknown[], tail = '\n\t"rows": 1\n}\n') =>
  `{\n\t"meta":\n\t${JSON.stringify(meta)},\n\n\t"data":\n\t[\n${rows.map((row) => `\t\t${JSON.stringify(row)}`).join(',\n')}\n\t],\n${tail}`;
const TEXT = (...names: string[]) => names.map((name) => ({ name, type: 'String' }));
const ability = () =>
  new Response(
    answered(TEXT('name', 'value', 'version'), [
      ['readonly', '0', '26.7.2.1'],
      ['max_execution_time', '0', '26.7.2.1'],
    ]),
  );
const described = () => new Response(answered(TEXT('name', 'type'), [['a', 'String']]));

/** After a description that is as it should be. */
const then =
  (answer: Answer): Answer =>
  (text) =>
    text.startsWith('DESCRIBE') ? described() : answer(text);

function endless(begin: string, chunk: Buffer): Response {
  let first = true;
  return new Response(
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        controller.enqueue(first ? Buffer.from(begin) : chunk);
        first = false;
        await Bun.sleep(0);
      },
    }),
  );
}

const MEGABYTE = Buffer.alloc(1024 * 1024, 'x');
const HEAD = '{\n"meta":\n[{"name":"a","type":"String"}],\n"data":\n[\n';
const select = sql('SELECT a FROM t');

describe('a ClickHouse server that answers more than it should', () => {
  const packed = gzipSync(Buffer.alloc(512 * 1024 * 1024, ' '));
  const bomb = () => new Response(packed, { headers: { 'content-encoding': 'gzip' } });

  test.each<[string, Answer]>([
    ['packed', bomb],
    ['packed rows', then(bomb)],
    ['a head without end', then(() => endless('{\n', Buffer.from('"x"\n'.repeat(250_000))))],
    ['a line without end', then(() => endless('{"meta":', MEGABYTE))],
    ['a row without end', then(() => endless(`${HEAD}["`, MEGABYTE))],
    ['a fault without end', then(() => new Response(endless('Code: 62. ', MEGABYTE).body, { status: 500 }))],
    ['a tail without end', then(() => endless(`${HEAD}["x"]\n],\n`, Buffer.from('"x": 1,\n'.repeat(100_000))))],
    ['empty lines without end', then(() => endless(HEAD, Buffer.from('\n'.repeat(1_000_000))))],
  ])(
    '%s: the call ends in time and without memory',
    async (_, answer) => {
      const began = performance.now();
      const source = hostile(answer);
      const outcome = source.query(select, { ...READ, max_bytes: 1024 * 1024, timeout_ms: 2_000 });
      expect(await grownBy(() => outcome.catch(() => undefined))).toBeLessThan(96);
      const code = await outcome.then(
        ({ rows, truncated }) => (rows.length <= 1 && truncated ? 'truncated' : 'answered'),
        (error: { code: string }) => error.code,
      );
      expect(['truncated', 'database_unreachable', 'too_large', 'timeout']).toContain(code);
      expect(source.sessions()).toBe(0);
      expect(performance.now() - began).toBeLessThan(paced(5_000));
      expect(asked.every((line) => line.startsWith('identity '))).toBe(true);
    },
    60_000,
  );
});

describe('a ClickHouse server that answers something else', () => {
  test.each<[string, Answer]>([
    ['nothing', () => new Response('')],
    ['a page', () => new Response('<html>')],
    ['a page with a fault', () => new Response('<html>Bad gateway', { status: 502 })],
    ['null', () => new Response('null')],
    ['another format', () => new Response('{"a":1}\n{"a":2}\n')],
    ['nests without end', () => new Response('['.repeat(1_000_000))],
    ['a head that is none', then(() => new Response('{\n"meta":\n5,\n"data":\n[\n["x"]\n],\n"rows": 1\n}\n'))],
    ['columns that are none', then(() => new Response('{\n"meta":\n[null],\n"data":\n[\n["x"]\n],\n"rows": 1\n}\n'))],
    ['a row that is too short', then(() => new Response(`${HEAD}[]\n],\n"rows": 1\n}\n`))],
    ['a row that is no list', then(() => new Response(`${HEAD}{"a":1}\n],\n"rows": 1\n}\n`))],
    ['an end in the middle', then(() => new Response(`${HEAD}["x"],\n`))],
    ['half a row', then(() => new Response(`${HEAD}["x"],\n["y`))],
    ['an end before the end', then(() => new Response(`${HEAD}["x"]\n],\n"rows": 1,\n`))],
    ['a redirection', () => new Response('', { status: 307, headers: { location: 'http://127.0.0.1:1/' } })],
    ['a status that is none', () => new Response('', { status: 599 })],
  ])('%s: says so, and is no fault of ours', async (_, answer) => {
    const source = hostile(answer);
    expect((await refusal(source.query(select, READ))).code).toBe('database_unreachable');
    expect(source.sessions()).toBe(0);
  });

  test('silence ends with the limit of the call', async () => {
    const silent = hostile(() => new Promise<Response>(() => undefined));
    const began = performance.now();
    expect((await refusal(silent.query(select, { ...READ, timeout_ms: 200 }))).code).toBe('timeout');
    expect(performance.now() - began).toBeLessThan(paced(1_500));
    expect(silent.sessions()).toBe(0);
  });

  test('a fault in the form of newer servers is told, wherever it stands', async () => {
    const fault =
      'Code: 395. DB::Exception: Value passed: in scope SELECT a FROM t. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO) (version 26.7.2.1)';
    for (const answer of [
      () => new Response(`${HEAD}["x"],\n__exception__\r\nabc\r\n${fault}\r\n`),
      () => new Response(`${HEAD}["x"],\n${fault}\n`),
      () => new Response(`${HEAD}["x"]\n],\n"rows": 1,\n"exception": "${fault}"\n}\n`),
    ]) {
      const error = await refusal(hostile(then(answer)).query(select, READ));
      expect(['sql_error', 'database_unreachable']).toContain(error.code);
      expect(error.detail).not.toMatch(/version|FUNCTION_/);
    }
  });
});

describe('settings that cannot be meant', () => {
  test.each([
    '127.0.0.1/admin?x=',
    '127.0.0.1#',
    '127.0.0.1:9',
    'user:secret@127.0.0.1',
    'http://127.0.0.1',
    '127.0.0.1\\admin',
    '127.0.0.1%2fadmin',
    '[::1',
    '',
  ])('the host %p reaches nobody', async (host) => {
    const source = hostile(described, { host });
    expect(['database_unreachable', 'private_network_blocked']).toContain((await refusal(source.test())).code);
    expect(asked).toEqual([]);
  });

  test('a name, a password and a database cannot be more than that', async () => {
    const source = hostile(described, { username: 'a\r\nX-Evil: 1', password: 'ü\0\n', database: 'shop&readonly=0#?' });
    await source.query(select, READ).catch(() => undefined);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.some((line) => line.includes('Evil'))).toBe(false);
  });
});
