import { beforeAll, describe, expect, test } from 'bun:test';
import type { LiveToken } from '#core/contract/deploy/control.ts';
import {
  callTool,
  connection,
  parameterOf,
  rpc,
  snapshotOf,
  sqliteFolder,
  testHost,
  textOf,
  toolOf,
} from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { on_deno } from '#test/support/deno.ts';
import { until } from '#test/support/until.ts';
import { liveToken, tokenText, toolsetOf } from '#test/mcp-host/toolsets/toolsets-support.ts';
import { download, downloadsIn, fileOf, untilLogged } from './files-support.ts';

const { control, host } = useHost('all');
const many = (count: string) =>
  `with recursive r(n) as (select 1 union all select n + 1 from r where n < ${count}) select n, 'w' || n as word from r`;
const TAGS = { tags: ['files'] };
const tools = [
  toolOf(connection, 'numbers', many(':count'), {
    ...TAGS,
    files: 'csv',
    max_rows: 3,
    parameters: [parameterOf('count', 'integer')],
  }),
  toolOf(connection, 'lines', many('3'), { ...TAGS, files: 'jsonl' }),
  toolOf(
    connection,
    'odd',
    "select '' as empty, null as missing, '=1+1' as formula, 'a\"b,c' as quoted, -5 as minus, x'00ff' as bytes",
    {
      ...TAGS,
      files: 'csv',
    },
  ),
  toolOf(connection, 'masked', 'select id, name, score from customers order by id', {
    ...TAGS,
    files: 'csv',
    masks: [
      { columns: ['name'], mask: 'text', unless_groups: ['staff'] },
      { columns: ['score'], mask: 'remove', unless_groups: ['staff'] },
    ],
  }),
  toolOf(connection, 'mine', 'select :who as who', {
    ...TAGS,
    files: 'csv',
    parameters: [parameterOf('who', 'string', { from: 'caller.claims.team' })],
  }),
  toolOf(connection, 'faulty', "select n, json(case when n < 2000 then '1' else 'x' end) as j from (" + many('3000') + ')', {
    ...TAGS,
    files: 'csv',
    max_rows: 2,
  }),
  toolOf(connection, 'columns', many('5000'), { ...TAGS, files: 'parquet', max_rows: 2 }),
  toolOf(connection, 'sheet', many('5000'), { ...TAGS, files: 'xlsx', max_rows: 2 }),
  toolOf(connection, 'plain', many('3'), TAGS),
  toolOf(connection, 'text', 'select 1 as n', { ...TAGS, files: 'csv', return_type: 'csv' }),
];
const FILES = toolsetOf('files', { tags: ['files'] }, { files: true });
const NONE = toolsetOf('none', { tags: ['files'] });

let tokens: LiveToken[];
const deployVersion = (version: number, more: { toolsets?: (typeof FILES)[]; tools?: typeof tools; server?: object } = {}) =>
  control.deploy(
    snapshotOf(version, {
      connections: [connection],
      tools: more.tools ?? tools,
      toolsets: more.toolsets ?? [FILES, NONE],
      server: { auth_type: 'bearer', files_max_rows: 100_000, ...more.server },
    }),
  );
async function sendTokens(list: LiveToken[]): Promise<void> {
  const before = (await host.health()).access_tokens.as_of;
  control.send('tokens', { tokens: list });
  await until(async () => (await host.health()).access_tokens.as_of !== before);
}
beforeAll(async () => {
  await deployVersion(1);
  tokens = [
    await liveToken(tokenText(1), ['files'], { claims: { team: 'red', groups: [] } }),
    await liveToken(tokenText(2), ['none']),
    await liveToken(tokenText(3), null, { claims: { groups: ['staff'] } }),
  ];
  await sendTokens(tokens);
});
const bearer = (n: number) => ({ authorization: `Bearer ${tokenText(n)}` });

describe('the answer of a tool with a file', () => {
  test('carries its first rows and the address in the text, in the structured content and as a link', async () => {
    const { body } = await callTool(host.mcp, 'numbers', { count: 10 }, bearer(1));
    const { structuredContent, content } = body.result as {
      structuredContent: { rows: unknown[]; truncated: boolean; file: { url: string; format: string; expires_at: string } };
      content: { type: string; text?: string; uri?: string; name?: string; mimeType?: string }[];
    };
    const { url, ...file } = structuredContent.file;
    expect([structuredContent.rows.length, structuredContent.truncated, file.format]).toEqual([3, true, 'csv']);
    expect(Math.round((Date.parse(file.expires_at) - Date.now()) / 60_000)).toBe(15);
    expect(url).toStartWith(`${host.mcp.origin}/f/`);
    expect(url.length).toBeLessThan(700);
    expect(content.map(({ type }) => type)).toEqual(['text', 'text', 'text', 'resource_link']);
    expect(content[2]?.text).toStartWith(
      `All rows as a file (csv), which a person can download until ${file.expires_at}: ${url}\n`,
    );
    expect(content[3]).toMatchObject({
      uri: url,
      name: 'numbers.csv',
      mimeType: 'text/csv',
      annotations: { audience: ['user'] },
    });
  });

  test('says the number of rows where the answer is complete, and has no link in revisions without links', async () => {
    expect(await fileOf(host, 'numbers', { count: 2 }, bearer(1))).toMatchObject({ rows: 2 });
    const call = { id: 1, method: 'tools/call', params: { name: 'lines', arguments: {} } };
    const types = async (version: string) => {
      const { body } = await rpc(host.mcp, call, { ...bearer(1), 'mcp-protocol-version': version });
      return ((body.result?.['content'] ?? []) as { type: string }[]).map(({ type }) => type);
    };
    expect(await types('2025-03-26')).toEqual(['text', 'text']);
    expect(await types('2025-11-25')).toEqual(['text', 'text', 'resource_link']);
    expect(textOf(await callTool(host.mcp, 'text', {}, bearer(1)))).toContain(`${host.mcp.origin}/f/`);
  });

  test('has no address for callers without a toolset with files, for other tools and at candidates of others', async () => {
    const answerOf = async (tool: string, n: number, path = '') =>
      JSON.stringify((await callTool(new URL(`${host.mcp.href}${path}`), tool, { count: 2 }, bearer(n))).body);
    expect(await answerOf('numbers', 2)).not.toContain('/f/');
    expect(await answerOf('plain', 1)).not.toContain('/f/');
    expect(await answerOf('numbers', 3, '/none')).not.toContain('/f/');
    // Someone without limits has the tool through every toolset.
    expect(await answerOf('numbers', 3)).toContain('/f/');
    expect(await answerOf('numbers', 3, '/readonly')).toContain('/f/');
  });
});

// SQLite has no files on Deno, which does not report late faults of a statement.
describe.skipIf(on_deno)('a download', () => {
  test('gives all rows as CSV or JSON lines, as an attachment that is not stored', async () => {
    const { url } = await fileOf(host, 'numbers', { count: 20_000 }, bearer(1));
    const { status, headers, text } = await download(url);
    expect(status).toBe(200);
    expect(text).toBe(`n,word\r\n${Array.from({ length: 20_000 }, (_, n) => `${n + 1},w${n + 1}\r\n`).join('')}`);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename="numbers.csv"',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    const lines = await fileOf(host, 'lines', {}, bearer(1));
    expect((await download(lines.url)).text).toBe('{"n":1,"word":"w1"}\n{"n":2,"word":"w2"}\n{"n":3,"word":"w3"}\n');
    await untilLogged(control, 2);
    expect(downloadsIn(control)[0]).toMatchObject({ name: 'numbers', rows: 20_000, bytes: text.length, error: null });
  });

  test('writes missing values, empty texts, quotes and formulas as a CSV result does', async () => {
    const { url } = await fileOf(host, 'odd', {}, bearer(1));
    expect((await download(url)).text).toBe('empty,missing,formula,quoted,minus,bytes\r\n"",,\'=1+1,"a""b,c",-5,AP8=\r\n');
  });

  test('gives Parquet and XLSX files with their names and types', async () => {
    for (const [tool, name, type, head] of [
      ['columns', 'columns.parquet', 'application/vnd.apache.parquet', 'PAR1'],
      ['sheet', 'sheet.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'PK'],
    ] as const) {
      const { url } = await fileOf(host, tool, {}, bearer(1));
      const { status, headers, text } = await download(url);
      expect([status, headers.get('content-type'), text.slice(0, head.length)]).toEqual([200, type, head]);
      expect(headers.get('content-disposition')).toBe(`attachment; filename="${name}"`);
    }
  });

  test('masks its rows for the caller of the address', async () => {
    const guest = await fileOf(host, 'masked', {}, bearer(1));
    expect((await download(guest.url)).text).toBe('id,name\r\n1,***\r\n2,***\r\n3,***\r\n');
    const staff = await fileOf(host, 'masked', {}, bearer(3));
    expect((await download(staff.url)).text).toBe('id,name,score\r\n1,Ada,1.5\r\n2,Grace,\r\n3,Edsger,3\r\n');
  });

  test('fills the values of the caller as they are at the download', async () => {
    const { url } = await fileOf(host, 'mine', {}, bearer(1));
    expect((await download(url)).text).toBe('who\r\nred\r\n');
    await sendTokens(tokens.map((token, n) => (n === 0 ? { ...token, claims: { team: 'blue' } } : token)));
    expect((await download(url)).text).toBe('who\r\nblue\r\n');
    await sendTokens(tokens);
  });

  test('is only for the caller of the address where a credential is sent', async () => {
    const { url } = await fileOf(host, 'lines', {}, bearer(1));
    expect((await download(url, { headers: bearer(3) })).status).toBe(404);
    expect((await download(url, { headers: { authorization: 'Bearer wrong' } })).status).toBe(404);
    expect((await download(url, { headers: bearer(1) })).status).toBe(200);
  });

  test('answers anything but GET with 405 and runs nothing', async () => {
    const { url } = await fileOf(host, 'lines', {}, bearer(1));
    const before = host.log.filter(({ message }) => message === 'download').length;
    for (const method of ['HEAD', 'POST', 'DELETE']) expect((await fetch(url, { method })).status).toBe(405);
    expect(host.log.filter(({ message }) => message === 'download')).toHaveLength(before);
  });

  test('is 404 without a reason for a changed, foreign or used up address', async () => {
    const { url } = await fileOf(host, 'lines', {}, bearer(1));
    const answers = [await download(`${url}A`), await download(url.slice(0, -4)), await download(`${host.mcp.origin}/f/`)];
    for (const { status, text, headers } of answers) {
      expect([status, text, headers.get('cache-control')]).toEqual([404, 'There is no file at this address.\n', 'no-store']);
    }
    const statuses: number[] = [];
    for (let n = 0; n < 6; n++) statuses.push((await download(url)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 404]);
  });

  test('that fails midway or reaches a limit breaks its connection', async () => {
    const faulty = await fileOf(host, 'faulty', {}, bearer(1));
    const outcome = (url: string) =>
      download(url).then(
        ({ status }) => status,
        () => 'broken',
      );
    expect(await outcome(faulty.url)).toBe('broken');
    const long = await fileOf(host, 'numbers', { count: 200_000 }, bearer(1));
    expect(await outcome(long.url)).toBe('broken');
    const errors = () => downloadsIn(control).flatMap(({ error }) => error ?? []);
    await until(() => errors().includes('too_large') && errors().includes('sql_error'));
    expect(downloadsIn(control).find(({ error }) => error === 'too_large')).toMatchObject({ truncated: 1 });
  });
});

describe.skipIf(on_deno)('a download is refused', () => {
  test('after its token was revoked', async () => {
    const { url } = await fileOf(host, 'lines', {}, bearer(1));
    await sendTokens(tokens.map((token, n) => (n === 0 ? { ...token, revoked: true } : token)));
    expect((await download(url)).status).toBe(404);
    await sendTokens(tokens);
    expect((await download(url)).status).toBe(200);
  });

  test('after its toolset lost its files or its tool, or the tool changed, and not after another change', async () => {
    const { url } = await fileOf(host, 'lines', {}, bearer(1));
    let version = 10;
    const statusWith = async (more: Parameters<typeof deployVersion>[1]) => {
      await deployVersion(++version, more);
      return (await download(url)).status;
    };
    expect(await statusWith({ toolsets: [{ ...FILES, files: false }, NONE] })).toBe(404);
    expect(await statusWith({ toolsets: [toolsetOf('files', { tags: ['other'] }, { files: true }), NONE] })).toBe(404);
    const changed = tools.map((tool) =>
      tool.name === 'lines' ? { ...tool, statement: tools[0]!.statement, parameters: tools[0]!.parameters } : tool,
    );
    expect(await statusWith({ tools: changed })).toBe(404);
    expect(await statusWith({ tools: tools.map(({ files: _, ...tool }) => tool) })).toBe(404);
    expect(await statusWith({ tools: [...tools, toolOf(connection, 'another', 'select 1 as n')] })).toBe(200);
  });
});

test.skipIf(on_deno)(
  'the settings say how long an address works, how large a file gets and how many are read at a time',
  async () => {
    const folder = sqliteFolder();
    let now = Date.now();
    const other = await testHost(folder.directory, control.url, { now: () => now });
    try {
      await until(async () => (await other.health()).control.connected);
      await deployVersion(100, {
        server: { auth_type: 'none', files_expire_minutes: 60, files_max_bytes: 1_048_576, files_slots: 2 },
      });
      await until(async () => (await other.health()).snapshot_version === 100);
      const { url, expires_at } = await fileOf(other, 'lines');
      expect(Date.parse(expires_at) - now).toBe(60 * 60_000);
      now += 59 * 60_000;
      expect((await download(url)).status).toBe(200);
      now += 60_000;
      expect((await download(url)).status).toBe(404);
      const large = await fileOf(other, 'numbers', { count: 90_000 });
      const small = await fileOf(other, 'numbers', { count: 60_000 });
      expect((await download(small.url)).text.length).toBeLessThan(1_048_576);
      expect(
        await download(large.url).then(
          ({ status }) => status,
          () => 'broken',
        ),
      ).toBe('broken');
      // With two slots, one that is not read holds up no other.
      const [first, second] = [await fetch(small.url), await download((await fileOf(other, 'lines')).url)];
      expect(second.status).toBe(200);
      await first.body?.cancel();
    } finally {
      await other.stop();
      folder.remove();
    }
  },
);

if (on_deno)
  test('on Deno there is no file of a SQLite database, because a late fault would go unnoticed', async () => {
    const { url } = await fileOf(host, 'lines', {}, bearer(1));
    expect((await download(url)).status).toBe(404);
  });
