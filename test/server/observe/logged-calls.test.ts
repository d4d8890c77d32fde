import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { filesBelow } from '#test/support/files.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

/** Sent in an argument that is logged, in one of a masked column, and in one whose use says nothing. */
const SENT = { plain: 'plain-argument-90ab', masked: 'masked-argument-77@example.com', unknown: 'unknown-argument-31cd' };

interface Detail extends Record<string, unknown> {
  readonly arguments: Record<string, unknown> | null;
}

describe.skipIf(!reachable.postgres)('calls of a tool that logs its arguments', () => {
  let programs: Programs;
  let database: TestDatabase;
  let client: Awaited<ReturnType<typeof connectClient>>;
  let tool_id = '';

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    await database.run('create table people (id int primary key, city text, email text)');
    await database.run(`insert into people values (1, 'Oslo', '${SENT.masked}')`);
    programs = await startPrograms();
    await programs.signIn();
    const { host, port, database: name, username } = database.settings;
    const target = { name: 'people', db_type: 'postgresql', host, port, database: name, username, ssl_mode: 'disable' };
    const { id } = await programs.api<{ id: string }>('POST', '/connections', target);
    const text = (parameter: string, required = false) => ({ name: parameter, type: 'string', description: parameter, required });
    const whose = { name: 'whose', type: 'string', description: 'Who calls', required: false, from: 'call.id' };
    const own = { connection_id: id, description: 'Finds people' };
    await programs.api('POST', '/tools', {
      ...own,
      name: 'find',
      sql_query:
        'select id, city, email from people where (city = :city or :city is null) or email = :email or lower(city) = :x or city = :whose',
      parameters: [text('city'), text('email'), text('x'), whose],
      masks: [{ column: 'email', mask: 'email', unless_groups: [] }],
      log_arguments: true,
    });
    await programs.api('POST', '/tools', {
      ...own,
      name: 'number',
      sql_query: 'select cast(cast(:n as text) as int) as n, cast(:more as text) as more',
      parameters: [text('n', true), text('more')],
      log_arguments: true,
    });
    const silent = { name: 'silent', sql_query: 'select cast(:n as text) as n', parameters: [text('n', true)] };
    tool_id = (await programs.api<{ id: string }>('POST', '/tools', { ...own, ...silent })).id;
    await programs.api('POST', '/deploy', { note: 'logged' });
    client = await connectClient('v1', programs.mcp_url);
  }, 60_000);
  afterAll(async () => {
    await client?.close().catch(() => undefined);
    await programs?.stop();
    if (programs) removeFolder(programs);
    await database?.drop();
  }, 60_000);

  const call = (name: string, args: Record<string, unknown>) => client.call(name, args);
  const latest = async (name: string, calls: number): Promise<Detail> => {
    const list = () => programs.api<{ items: { id: string }[]; total: number }>('GET', `/logs?name=${name}`);
    await until(async () => (await list()).total >= calls);
    return programs.api<Detail>('GET', `/logs/${(await list()).items[0]?.id ?? ''}`);
  };

  test('show what the caller sent, masked as its results are, and nothing that comes from elsewhere', async () => {
    await call('find', { city: SENT.plain, email: SENT.masked, x: SENT.unknown, whose: 'me', spare: SENT.unknown });
    const detail = await latest('find', 1);
    expect(detail).toMatchObject({
      arguments_state: 'logged',
      arguments: { city: SENT.plain, email: 'm***@example.com', x: '***' },
      arguments_masked: ['email', 'x'],
      arguments_left_out: [],
    });
    expect(Object.keys(detail.arguments ?? {})).toEqual(['city', 'email', 'x']);
    expect(JSON.stringify(detail)).not.toContain(SENT.masked);
    expect(JSON.stringify(detail)).not.toContain(SENT.unknown);
  }, 60_000);

  test('that fail show them too, also those that the tool refuses', async () => {
    await call('number', { n: SENT.plain });
    expect(await latest('number', 1)).toMatchObject({ error: 'sql_error', arguments: { n: SENT.plain } });
    await call('number', { n: [1] });
    expect(await latest('number', 2)).toMatchObject({ error: 'invalid', arguments: { n: [1] } });
  }, 60_000);

  test('keep 16 KiB of them and name the rest', async () => {
    await call('number', { n: '12', more: 'x'.repeat(20_000) });
    expect(await latest('number', 3)).toMatchObject({ arguments: { n: '12' }, arguments_left_out: ['more'] });
  }, 60_000);

  test('hold them nowhere as they are: not in the metadata database, a file, a log line or another answer', async () => {
    const files = filesBelow(programs.directory).map(({ text }) => text);
    const answers = await Promise.all(
      ['/logs', '/sessions/mcp', '/sessions/mcp/1', '/metrics/stats', '/calls/running', '/history', '/export-import/export'].map(
        async (path) => JSON.stringify(await programs.api('GET', path)),
      ),
    );
    const texts = [...files, ...answers, programs.output()];
    const found = Object.values(SENT).filter((value) => texts.some((text) => text.includes(value)));
    expect(found).toEqual([]);
  }, 60_000);

  test('begin and end with a deploy, and a tool without them keeps nothing', async () => {
    await call('silent', { n: SENT.plain });
    expect(await latest('silent', 1)).toMatchObject({ arguments_state: 'not_logged', arguments: null });
    await programs.api('PATCH', `/tools/${tool_id}`, { log_arguments: true });
    await call('silent', { n: SENT.plain });
    expect(await latest('silent', 2)).toMatchObject({ arguments_state: 'not_logged' });
    await programs.api('POST', '/deploy', { note: 'log it' });
    await until(async () => {
      await call('silent', { n: SENT.plain });
      return (await latest('silent', 3))['arguments_state'] === 'logged';
    });
  }, 60_000);
});
