import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { until } from '#test/support/until.ts';
import { isErrorBody } from '#test/support/app.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';

let s: ListeningServer;
let cookie: string;
let id: string;
let folder: string;

beforeAll(async () => {
  s = await listeningServer(undefined, {
    SVC_ROLE: 'server',
    SVC_FILES_MAX_BYTES: '30000000',
    SVC_FILES_QUOTA_BYTES: '50000000',
  });
  cookie = await s.signIn();
  const made = await s.send('files.create_folder', { name: 'Büro reports!' });
  expect(made).toMatchObject({
    status: 201,
    body: { db_type: 'duckdb', database: 'buro-reports', read_only: true, name: 'Büro reports!' },
  });
  id = made.body.id;
  folder = join(s.directory, 'databases', 'buro-reports');
});

afterAll(() => s.stop());

const path = (name: string) => `/connections/${id}/files?name=${encodeURIComponent(name)}`;

async function upload(name: string, body: BodyInit, headers: Record<string, string> = {}) {
  const response = await fetch(`${s.url}/api/v1${path(name)}`, { method: 'POST', headers: { cookie, ...headers }, body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

type Listing = { items: Record<string, unknown>[]; total: number; bytes: number; reading: boolean };

/** The list once everything in it was read; a machine that does other things as well takes longer than the list waits. */
async function list(): Promise<Listing> {
  for (let n = 0; ; n++) {
    const page = await s.call('files.list', { id });
    if (!page.reading || n === 10) return page;
  }
}

/** What lies in the folder, hidden files too. */
const names = () => readdirSync(folder).toSorted();

describe('files of a connection', () => {
  test('are put there, listed with their tables, replaced and deleted', async () => {
    expect(await upload('sales.csv', 'day,total\n2026-01-01,1.5\n2026-02-01,x\n')).toEqual({
      status: 201,
      body: { name: 'sales.csv', bytes: 38, replaced: false },
    });
    expect((await list()).items).toMatchObject([
      {
        name: 'sales.csv',
        bytes: 38,
        key: 'sales.csv',
        error: null,
        tables: [{ name: 'sales', rows: 2, columns: [{ name: 'day', type: 'DATE' }, { type: 'VARCHAR' }] }],
      },
    ]);
    expect((await upload('sales.csv', 'day,total\n2026-01-01,1\n')).body).toMatchObject({ replaced: true });
    const after = await list();
    expect(after.items).toMatchObject([{ tables: [{ rows: 1, columns: [{}, { name: 'total', type: 'BIGINT' }] }] }]);
    expect(after).toMatchObject({ total: 1, bytes: 23, max_file_bytes: 30_000_000, quota_bytes: 50_000_000, reading: false });
    const tables = await s.call('schema.tables', { connection_id: id });
    expect(tables).toMatchObject({ items: [{ name: 'sales' }] });
    expect((await s.send('files.delete', { id, name: 'sales.csv' })).status).toBe(204);
    expect((await s.send('files.delete', { id, name: 'sales.csv' })).status).toBe(404);
    expect((await list()).total).toBe(0);
    expect(names()).toEqual([]);
  });

  test('are tables at once for whoever reads them after an upload, an import or a deletion', async () => {
    const tables = async () => {
      const body = await s.call('schema.tables', { connection_id: id });
      return body.items.map(({ name }) => name);
    };
    const save = (table: string) =>
      s.send('tools.create', {
        name: `count_${table}`,
        description: `Counts the rows of ${table}.`,
        connection_id: id,
        sql_query: `select count(*) as n from ${table}`,
      });
    await upload('dec.csv', 'day\n2025-12-01\n');
    // Looked at a moment ago: what was found is true for two seconds else.
    expect(await tables()).toEqual(['dec']);
    await upload('jan.csv', 'day\n2026-01-01\n');
    expect(await tables()).toEqual(['dec', 'jan']);
    expect((await save('jan')).status).toBe(201);
    await upload('feb.csv', 'day\n2026-02-01\n');
    expect((await save('feb')).status).toBe(201);
    // A program beside Sluice wrote it, and the list of files has read it.
    writeFileSync(join(folder, 'mar.csv'), 'day\n2026-03-01\n');
    expect((await list()).items).toHaveLength(4);
    expect((await save('mar')).status).toBe(201);
    expect(await tables()).toEqual(['dec', 'feb', 'jan', 'mar']);
    for (const month of ['dec', 'jan', 'feb', 'mar']) await s.api('DELETE', `/connections/${id}/files/${month}.csv`);
    // A busy machine may take longer than a call waits for changed files.
    await until(async () => (await tables()).length === 0);
  });

  test('that cannot be read are named with the reason, and their last good table stays', async () => {
    await upload('list.json', '[{"a":1}]');
    await list();
    await upload('list.json', '[{"a":');
    expect((await list()).items).toMatchObject([
      { error: { message: expect.stringContaining('Malformed JSON') as string }, tables: [{ name: 'list', rows: 1 }] },
    ]);
    await s.call('files.delete', { id, name: 'list.json' });
  });

  test('have safe names of known kinds, and never take the place of a folder or a link', async () => {
    mkdirSync(join(folder, 'sub.csv'));
    symlinkSync('/etc/passwd', join(folder, 'link.csv'));
    const before = readFileSync('/etc/passwd', 'utf8');
    for (const name of [
      '../evil.csv',
      '..',
      '.',
      '.hidden.csv',
      'a/b.csv',
      'a\\b.csv',
      '/etc/evil.csv',
      'x.duckdb',
      'x.ddb',
      'x.exe',
      'csv',
      'x.csv ',
      'x\n.csv',
      'x\u202e.txt',
      'x\u202evsc.csv',
      'x\u200e.csv',
      'x\u200d.csv',
      'x\u00ad.csv',
      `${'x'.repeat(250)}.csv`,
      'e\u0301.csv',
      'sub.csv',
      'link.csv',
    ]) {
      const answer = await upload(name, 'a\n1\n');
      expect([name, answer.status, isErrorBody(answer.body)]).toEqual([name, 422, true]);
    }
    expect((await s.api('POST', `/connections/${id}/files`)).status).toBe(422);
    for (const name of ['..%2f..%2fsluice.sqlite', '.%2e', 'sub.csv', 'link.csv', '%2fetc%2fpasswd']) {
      expect([name, (await s.api('DELETE', `/connections/${id}/files/${name}`)).status]).toEqual([name, 404]);
    }
    expect(readFileSync('/etc/passwd', 'utf8')).toBe(before);
    expect(names()).toEqual(['link.csv', 'sub.csv']);
    expect(readdirSync(join(s.directory, 'databases'))).toEqual(['buro-reports']);
  });

  test('are limited one by one and together, and nothing is left of what was too large', async () => {
    const large = new Uint8Array(31_000_000);
    expect((await upload('large.csv', large)).status).toBe(413);
    // Without a length it is found out as it arrives.
    const streamed = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(1_000_000));
      },
    });
    const answer = await fetch(`${s.url}/api/v1${path('large.csv')}`, {
      method: 'POST',
      headers: { cookie },
      body: streamed,
    }).then(
      ({ status }) => status,
      () => 413,
    );
    expect(answer).toBe(413);
    // The server notices a connection that was cut a moment later, and then gives the room back.
    await until(() => !names().some((name) => name.startsWith('.')));
    expect((await upload('one.csv', `a\n${'1\n'.repeat(14_000_000)}`)).status).toBe(201);
    const second = await upload('two.csv', `a\n${'1\n'.repeat(12_000_000)}`);
    expect(second).toMatchObject({ status: 413, body: { detail: expect.stringContaining('SVC_FILES_QUOTA_BYTES') as string } });
    // One of the same name takes the place of the other.
    expect((await upload('one.csv', `a\n${'1\n'.repeat(14_500_000)}`)).status).toBe(201);
    expect(names()).toEqual(['link.csv', 'one.csv', 'sub.csv']);
    expect((await s.send('files.delete', { id, name: 'one.csv' })).status).toBe(204);
  }, 60_000);

  test('take their room when they begin, however long their last bytes are withheld', async () => {
    const begin = (name: string, length: string) =>
      new Promise<{ answer: () => string; end: () => void }>((resolve) => {
        const { port } = new URL(s.url);
        let text = '';
        const head = [`POST /api/v1${path(name)} HTTP/1.1`, 'host: localhost', `cookie: ${cookie}`, length, '', ''];
        const socket = connect(Number(port), '127.0.0.1', () => {
          socket.write(`${head.join('\r\n')}${length.startsWith('t') ? 'f4240\r\n' : ''}${'x'.repeat(1_000_000)}`);
          resolve({ answer: () => text, end: () => socket.destroy() });
        });
        socket.on('data', (chunk) => (text += String(chunk)));
        socket.on('error', () => undefined);
      });
    const declared = 'content-length: 20000000';
    const held = [await begin('a.csv', declared), await begin('b.csv', declared)];
    await until(() => names().filter((name) => name.startsWith('.upload-')).length === 2);
    const third = await begin('c.csv', declared);
    await until(() => third.answer() !== '');
    expect(third.answer()).toContain('413');
    expect((await upload('d.csv', 'y'.repeat(15_000_000))).status).toBe(413);
    for (const { end } of held) end();
    await until(() => names().every((name) => !name.startsWith('.upload-')));
    expect((await upload('e.csv', 'a,b\n1,2\n')).status).toBe(201);
    expect((await s.send('files.delete', { id, name: 'e.csv' })).status).toBe(204);
  });

  test('that arrive half leave what was there before', async () => {
    await upload('half.csv', 'a\n1\n');
    const { hostname, port } = new URL(s.url);
    const socket = connect(Number(port), hostname);
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write(
      `POST /api/v1${path('half.csv')} HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncookie: ${cookie}\r\ncontent-length: 1000000\r\n\r\na\n2\n`,
    );
    await Bun.sleep(300);
    socket.destroy();
    for (let n = 0; n < 100 && names().some((name) => name.startsWith('.upload-')); n++) await Bun.sleep(50);
    expect(names()).toEqual(['half.csv', 'link.csv', 'sub.csv']);
    expect(readFileSync(join(folder, 'half.csv'), 'utf8')).toBe('a\n1\n');
  });

  test('are replaced under load without a failed or a torn read', async () => {
    const rows = 20_000;
    const content = (value: number) => `a\n${`${value}\n`.repeat(rows)}`;
    await upload('load.csv', content(1));
    const preview = () =>
      s.send('preview.execute', {
        connection_id: id,
        sql_query: 'select min(a) as low, max(a) as high, count(*) as n from load',
      });
    // A new file is seen within five seconds.
    const began = performance.now();
    while ((await preview()).status !== 200 && performance.now() - began < 5_000) await Bun.sleep(100);
    expect((await preview()).status).toBe(200);
    const state = { last: 1 };
    const writing = (async () => {
      for (state.last = 2; state.last <= 6; state.last++)
        expect((await upload('load.csv', content(state.last))).status).toBe(201);
    })();
    const seen = new Set<string>();
    while (state.last <= 6) {
      const { status, body } = await preview();
      expect([status, JSON.stringify(body)]).toEqual([200, expect.any(String) as string]);
      const [row] = body.rows;
      expect([row?.['n'], row?.['low']]).toEqual([rows, row?.['high']]);
      seen.add(String(row?.['low']));
    }
    await writing;
    for (let n = 0; n < 20 && !seen.has('6'); n++) {
      seen.add(String((await preview()).body.rows[0]?.['low']));
      await Bun.sleep(500);
    }
    expect(seen).toContain('6');
  }, 60_000);

  test('leave entries in the history, which cannot be rolled back', async () => {
    await upload('told.csv', 'a\n1\n');
    await upload('told.csv', 'a\n1\n2\n');
    await s.call('files.delete', { id, name: 'told.csv' });
    const page = await s.call('history.list', { entity_type: 'file', entity_id: id, search: 'told.csv' });
    const entries = page.items as Record<string, unknown>[];
    expect(entries.map(({ action, changes, actor }) => [action, changes, actor])).toMatchObject([
      ['delete', { bytes: { old: 6, new: null } }, { name: 'ada' }],
      ['update', { bytes: { old: 4, new: 6 } }, { type: 'admin' }],
      ['create', { name: { old: null, new: 'told.csv' }, connection: { new: 'Büro reports!' } }, { type: 'admin' }],
    ]);
    const answer = await s.send('history.rollback', { history_id: String(entries[0]?.['id']) });
    expect(answer).toMatchObject({ status: 422, body: { detail: 'A change of this kind (file) cannot be rolled back.' } });
  });

  test('the file of a SQLite connection can be replaced by another database, and not deleted', async () => {
    const shop = join(s.directory, 'databases', 'shop.sqlite');
    const create = (path: string, script: string) => {
      const database = new DatabaseSync(path);
      database.exec(script);
      database.close();
      return readFileSync(path);
    };
    create(shop, 'PRAGMA journal_mode = wal; CREATE TABLE t AS SELECT 1 AS a');
    const body = await s.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
    const of = body.id;
    const send = async (name: string, file: BodyInit) => {
      const answer = await fetch(`${s.url}/api/v1/connections/${of}/files?name=${name}`, {
        method: 'POST',
        headers: { cookie },
        body: file,
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const read = async () => {
      const answer = await s.call('preview.execute', { connection_id: of, sql_query: 'select a from t' });
      return answer.rows;
    };
    expect(await read()).toEqual([{ a: 1 }]);
    expect(await s.call('files.list', { id: of })).toMatchObject({
      total: 1,
      items: [{ name: 'shop.sqlite', tables: [], error: null }],
    });
    // What an open writer has in its log belongs to the old file.
    const writer = new DatabaseSync(shop);
    writer.exec('INSERT INTO t VALUES (7)');
    const next = create(join(s.directory, 'next.db'), 'PRAGMA journal_mode = wal; CREATE TABLE t AS SELECT 2 AS a');
    expect(await send('shop.sqlite', next)).toEqual({
      status: 201,
      body: { name: 'shop.sqlite', bytes: next.length, replaced: true },
    });
    writer.close();
    expect(await read()).toEqual([{ a: 2 }]);
    for (const [name, file] of [
      ['other.sqlite', next],
      ['shop.sqlite', 'this is no database'],
      ['shop.sqlite', next.subarray(0, 5_000)],
      ['shop.sqlite', 'SQLite format 3\0'.padEnd(4_096, 'x')],
    ] as const) {
      expect([name, (await send(name, file)).status]).toEqual([name, 422]);
    }
    const gone = await s.send('files.delete', { id: of, name: 'shop.sqlite' });
    expect(gone).toMatchObject({ status: 422, body: { detail: expect.stringContaining('replace it') as string } });
    expect(await read()).toEqual([{ a: 2 }]);
    expect(readdirSync(join(s.directory, 'databases')).filter((name) => name.startsWith('.upload-'))).toEqual([]);
  });

  test('belong to folders and SQLite: other connections refuse them with a sentence', async () => {
    writeFileSync(join(s.directory, 'databases', 'one.duckdb'), '');
    for (const connection of [
      { name: 'one file', db_type: 'duckdb', database: 'one.duckdb' },
      { name: 'server', db_type: 'postgresql', host: '1.1.1.1', database: 'x' },
    ]) {
      const { body } = await s.send('connections.create', connection);
      expect(body).toMatchObject({ name: connection.name });
      for (const method of ['GET', 'POST']) {
        const answer = await s.api(method, `/connections/${body.id}/files`);
        expect(answer).toMatchObject({ status: 422, body: { detail: expect.stringContaining('folder') as string } });
      }
    }
  });

  test('a second folder of the same name gets a name of its own', async () => {
    const body = await s.call('files.create_folder', { name: 'Büro reports?' });
    expect(body).toMatchObject({ database: 'buro-reports-2' });
  });

  test('a name that is taken is refused, and leaves no folder behind', async () => {
    const folders = () => readdirSync(join(s.directory, 'databases'));
    const before = folders();
    const again = await s.send('files.create_folder', { name: 'Büro reports!' });
    expect([again.status, again.body.detail]).toEqual([409, expect.stringContaining('already has this name')]);
    expect(folders()).toEqual(before);
  });
});
