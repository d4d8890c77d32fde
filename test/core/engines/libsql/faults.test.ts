import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { openLibsql } from '#core/engines/libsql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy } from '#test/support/databases.ts';
import { grownBy } from '#test/support/hostile-server.ts';
import { paced } from '#test/support/paced.ts';
import { READ, refusal, sql, WRITE } from '../shared/suite.ts';

const opened: (() => Promise<unknown>)[] = [];
const asked: string[] = [];

afterEach(() => void asked.splice(0));
afterAll(async () => {
  for (const close of opened) await close();
});

type Answer = (path: string) => Response | Promise<Response>;

/** What a libSQL server must never be trusted to be: only its hostile answers are played here. */
function hostile(answer: Answer, settings: Partial<ConnectionSettings> = {}): Source {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      const { pathname } = new URL(request.url);
      asked.push(`${pathname} ${request.headers.get('accept-encoding')}`);
      return answer(pathname);
    },
  });
  const source = openLibsql({ ...SETTINGS, port: server.port!, ...settings }, localPolicy);
  opened.push(
    () => source.close(),
    () => server.stop(true),
  );
  return source;
}

const SETTINGS: ConnectionSettings = {
  db_type: 'libsql',
  host: '127.0.0.1',
  port: null,
  database: 'default',
  username: null,
  password: null,
  ssl_mode: 'disable',
  ssl_ca: null,
  ssl_cert: null,
  ssl_key: null,
  extra_params: {},
  pool_size: 1,
};

const COLS = [{ name: 'a', decltype: null }];
const describes = (cols: unknown = COLS, is_readonly: unknown = true) =>
  Response.json({ baton: 'b', base_url: null, results: [{ type: 'ok', response: { result: { cols, is_readonly } } }] });
const lines = (...entries: unknown[]) => new Response(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
const BATON = { baton: 'b', base_url: null };
const BEGUN = [
  { type: 'step_begin', step: 0, cols: [] },
  { type: 'step_end', affected_row_count: 0 },
  { type: 'step_begin', step: 1, cols: COLS },
];
const ROW = { type: 'row', row: [{ type: 'text', value: 'x' }] };
const END = { type: 'step_end', affected_row_count: 0 };

/** `begin`, and then a megabyte at a time for as long as somebody reads. */
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
const select = sql('SELECT a FROM t');

describe('a libSQL server that answers more than it should', () => {
  const LIMITS = { ...READ, max_bytes: 1024 * 1024, timeout_ms: 5_000 };
  const packed = gzipSync(Buffer.alloc(512 * 1024 * 1024, ' '));
  const bomb = () => new Response(packed, { headers: { 'content-encoding': 'gzip' } });

  test.each<[string, Answer]>([
    ['packed', bomb],
    ['packed rows', (path) => (path === '/v3/pipeline' ? describes() : bomb())],
    ['packed refusals', () => new Response(packed, { status: 500, headers: { 'content-encoding': 'gzip' } })],
    ['a description without end', () => endless('{"baton":"', MEGABYTE)],
    ['a refusal without end', () => new Response(endless('{"error":"', MEGABYTE).body, { status: 500 })],
    [
      'a row without end',
      (path) =>
        path === '/v3/pipeline'
          ? describes()
          : endless(`{"baton":"b"}\n${BEGUN.map((e) => `${JSON.stringify(e)}\n`).join('')}`, MEGABYTE),
    ],
    [
      'steps that nobody asked for',
      (path) =>
        path === '/v3/pipeline'
          ? describes()
          : endless('{"baton":"b"}\n', Buffer.from('{"type":"step_begin","step":7,"cols":[]}\n'.repeat(1_000))),
    ],
  ])(
    '%s: the call ends in time and without memory',
    async (name, answer) => {
      const began = performance.now();
      for (const options of [LIMITS, { ...WRITE, max_bytes: 1024 * 1024, timeout_ms: 2_000 }]) {
        const source = hostile(answer);
        const outcome = source.query(options.mode === 'write' ? sql('INSERT INTO t VALUES (1)') : select, {
          ...options,
          timeout_ms: 2_000,
        });
        expect(await grownBy(() => outcome.catch(() => undefined))).toBeLessThan(96);
        const said = await outcome.then(
          ({ rows, truncated }) => {
            expect([rows.length, truncated]).toEqual([0, true]);
            return null;
          },
          ({ code, detail }: { code: string; detail: string }) => {
            expect(['database_unreachable', 'too_large', 'timeout']).toContain(code);
            return detail;
          },
        );
        if (name.startsWith('packed')) expect(said).toContain('turn compression off');
        expect(source.sessions()).toBe(0);
      }
      expect(performance.now() - began).toBeLessThan(9_000);
      expect(asked.every((line) => line.endsWith(' identity'))).toBe(true);
    },
    60_000,
  );
});

describe('a libSQL server that answers something else', () => {
  const cursor =
    (answer: () => Response, cols?: unknown): Answer =>
    (path) =>
      path === '/v3/pipeline' ? describes(cols) : answer();

  test.each<[string, Answer]>([
    ['nothing', () => new Response('')],
    ['a page', () => new Response('<html>')],
    ['null', () => new Response('null')],
    ['no results', () => Response.json({ baton: null })],
    ['results of another kind', () => Response.json({ baton: null, results: [null] })],
    ['results without a response', () => Response.json({ baton: null, results: [{ type: 'ok' }] })],
    ['errors without words', () => Response.json({ baton: null, results: [{ type: 'error' }] })],
    ['no result at all', () => Response.json({ baton: null, results: [] })],
    ['columns that are a number', () => describes(5)],
    ['nests without end', () => new Response('['.repeat(1_000_000))],
    ['another address', () => Response.json({ base_url: 'http://198.51.100.7', results: [] })],
    ['an address that is none', () => Response.json({ base_url: 'nowhere', results: [] })],
    ['a redirection', () => new Response('', { status: 302, headers: { location: 'http://127.0.0.1:1/' } })],
    ['a status that is none', () => new Response('', { status: 599 })],
    ['a cursor that is a page', cursor(() => new Response('<html>'))],
    ['a cursor of nulls', cursor(() => lines(BATON, null))],
    ['a row of nothing', cursor(() => lines(BATON, ...BEGUN, { type: 'row' }, END))],
    ['a row that is too short', cursor(() => lines(BATON, ...BEGUN, { type: 'row', row: [] }, END))],
    [
      'an integer that is none',
      cursor(() => lines(BATON, ...BEGUN, { type: 'row', row: [{ type: 'integer', value: 'x' }] }, END)),
    ],
    ['columns that are none', cursor(() => lines(BATON, { type: 'step_begin', step: 1, cols: [null] }, END))],
    ['an error without words', cursor(() => lines(BATON, { type: 'step_error', step: 1 }))],
    ['an end in the middle', cursor(() => lines(BATON, ...BEGUN, ROW))],
    ['an end before the statement', cursor(() => lines(BATON, ...BEGUN.slice(0, 2)))],
    ['half a line', cursor(() => new Response(`${JSON.stringify(BATON)}\n{"type":"st`))],
  ])('%s: says so, and is no fault of ours', async (_, answer) => {
    const source = hostile(answer);
    expect((await refusal(source.query(select, READ))).code).toBe('database_unreachable');
    expect((await refusal(source.query(sql('INSERT INTO t VALUES (1)'), WRITE))).code).toBe('database_unreachable');
    expect(source.sessions()).toBe(0);
  });

  test('the words of a parser are shown, those of anything else are not', async () => {
    const says = (error: string) => cursor(() => Response.json({ error }, { status: 500 }));
    const parser = 'Internal Error: `SQL string could not be parsed: unsupported statement: CREATE TEMP TABLE t (a)`';
    expect(await refusal(hostile(says(parser)).query(select, READ))).toMatchObject({
      code: 'sql_error',
      detail: 'unsupported statement: CREATE TEMP TABLE t (a).',
    });
    const other = await refusal(hostile(says('disk of db-7.internal is full')).query(select, READ));
    expect(other.detail).toBe('The server answered with the HTTP status 500; check the host and the port.');
  });

  test.each<[string, () => Response | Promise<Response>, number]>([
    ['a refusal of its own', () => new Response('', { status: 500 }), 10_000],
    ['something else', () => new Response('<html>'), 10_000],
    ['no result', () => Response.json({ ...BATON, results: [] }), 10_000],
    ['nothing until the call is over', () => Bun.sleep(400).then(() => new Response('', { status: 502 })), 200],
  ])('a commit that gets %s as its answer may have been made', async (_, answer, timeout_ms) => {
    let committing = false;
    const source = hostile((path) => {
      if (committing) return answer();
      committing = path === '/v3/cursor';
      return committing ? lines(BATON, ...BEGUN, END) : describes([]);
    });
    expect(await refusal(source.query(sql('INSERT INTO t VALUES (1)'), { ...WRITE, timeout_ms }))).toMatchObject({
      code: 'database_unreachable',
      reason: 'commit_unknown',
    });
  });

  test('a commit is made, even if its conversation cannot be closed then', async () => {
    let committing = false;
    const source = hostile((path) => {
      const done = { type: 'ok', response: { result: { cols: [], rows: [] } } };
      if (committing) return Response.json({ ...BATON, results: [done, { type: 'error', error: { message: 'no stream' } }] });
      committing = path === '/v3/cursor';
      return committing ? lines(BATON, ...BEGUN, END) : describes([]);
    });
    expect((await source.query(sql('INSERT INTO t VALUES (1)'), WRITE)).truncated).toBe(false);
  });

  test('silence ends with the limit of the call', async () => {
    const silent = hostile(() => new Promise<Response>(() => undefined));
    for (const mode of ['read', 'write'] as const) {
      const began = performance.now();
      const text = mode === 'read' ? select : sql('INSERT INTO t VALUES (1)');
      expect((await refusal(silent.query(text, { ...READ, mode, timeout_ms: 200 }))).code).toBe('timeout');
      expect(performance.now() - began).toBeLessThan(paced(1_000));
      expect(silent.sessions()).toBe(0);
    }
  });
});

describe('settings that cannot be meant', () => {
  const HOSTS = [
    '127.0.0.1/admin?x=',
    '127.0.0.1?x=',
    '127.0.0.1#',
    '127.0.0.1:9',
    '127.0.0.1:9/',
    'user@127.0.0.1',
    'user:secret@127.0.0.1',
    'http://127.0.0.1',
    '127.0.0.1\\admin',
    '127.0.0.1 ',
    '127.0.0.1\n',
    '127.0.0.1%2fadmin',
    '[::1]/x',
    '[::1',
    '',
  ];

  test.each(HOSTS)('the host %p reaches nobody', async (host) => {
    const source = hostile(() => describes(), { host });
    expect(['database_unreachable', 'private_network_blocked']).toContain((await refusal(source.test())).code);
    expect(asked).toEqual([]);
  });

  test.each(['a\nb', 'a b', 'ü', 'a\0', '\u007f', 'a\r\nX-Evil: 1'])('the token %p is not sent', async (password) => {
    const source = hostile(() => describes(), { password });
    expect(await refusal(source.test())).toMatchObject({ code: 'database_unreachable', reason: 'auth_failed' });
    expect(asked).toEqual([]);
  });
});
