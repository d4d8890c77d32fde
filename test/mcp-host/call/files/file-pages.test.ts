import { beforeAll, expect, test } from 'bun:test';
import { callTool, connection, modern, parameterOf, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { liveToken, tokenText, toolsetOf } from '#test/mcp-host/toolsets/toolsets-support.ts';
import { on_deno } from '#test/support/deno.ts';
import { until } from '#test/support/until.ts';
import { download, downloadsIn, type FileMember } from './files-support.ts';

const { control, host } = useHost('all');
const TAGS = { tags: ['files'] };
const numbers = 'with recursive r(n) as (select 1 union all select n + 1 from r where n < :count) select n from r';
const tools = [
  toolOf(connection, 'numbers', numbers, {
    ...TAGS,
    files: 'csv',
    max_rows: 3,
    parameters: [parameterOf('count', 'integer')],
  }),
  toolOf(connection, 'masked', 'select id, name from customers order by id', {
    ...TAGS,
    files: 'jsonl',
    masks: [{ columns: ['name'], mask: 'text', unless_groups: ['staff'] }],
  }),
  toolOf(connection, 'sheet', 'select 1 as one', { ...TAGS, files: 'xlsx' }),
];
const toolsets = [toolsetOf('exports', { tags: ['files'] }, { files: true })];
const as = (n: number) => ({ authorization: `Bearer ${tokenText(n)}` });
const deployVersion = (version: number, served = toolsets) =>
  control.deploy(snapshotOf(version, { connections: [connection], tools, toolsets: served, server: { auth_type: 'bearer' } }));

beforeAll(async () => {
  await deployVersion(1);
  const tokens = await Promise.all([1, 2].map((n) => liveToken(tokenText(n), ['exports'])));
  const before = (await host.health()).access_tokens.as_of;
  control.send('tokens', { tokens });
  await until(async () => (await host.health()).access_tokens.as_of !== before);
});

const offered = async (tool: string, args: object, caller = 1) => {
  const { body } = await callTool(host.mcp, tool, args, as(caller));
  const { file } = (body.result?.['structuredContent'] ?? {}) as { file?: FileMember & { resource?: string } };
  if (file === undefined) throw new Error(`The answer has no file: ${JSON.stringify(body)}`);
  return file;
};
interface Contents {
  readonly uri: string;
  readonly mimeType: string;
  readonly text: string;
}
const read = async (uri: string, caller = 1) => {
  const { body } = await modern(host.mcp, 'resources/read', { uri }, as(caller));
  const { contents = [], _meta: meta } = (body.result ?? {}) as { contents?: Contents[]; _meta?: { 'sluice/next'?: string } };
  return { contents, next: meta?.['sluice/next'], error: body.error };
};

if (!on_deno) {
  test('pages one after the other are the file, and each names the next', async () => {
    const { url, resource = '' } = await offered('numbers', { count: 2_500 });
    let text = '';
    let pages = 0;
    for (let uri: string | undefined = resource; uri !== undefined; pages++) {
      const { contents, next }: Awaited<ReturnType<typeof read>> = await read(uri);
      expect(contents[0]).toMatchObject({ uri, mimeType: expect.stringContaining('text/csv') });
      expect(contents.length).toBe(next === undefined ? 1 : 2);
      if (next !== undefined) expect(contents[1]).toMatchObject({ uri: next, text: expect.stringContaining(next) });
      text += contents[0]?.text ?? '';
      uri = next;
    }
    expect(pages).toBe(3);
    expect(text).toBe((await download(url)).text);
    await until(() => downloadsIn(control).filter(({ client }) => client === 'download page (csv)').length === 3);
  });

  test('masks of the caller apply, and a file that has no readable parts has no pages', async () => {
    const { resource = '' } = await offered('masked', {});
    expect((await read(resource)).contents[0]?.text).toBe([1, 2, 3].map((id) => `{"id":${id},"name":"***"}\n`).join(''));
    expect((await offered('sheet', {})).resource).toBeUndefined();
  });

  test('another caller, a changed address and a lost right read nothing, with one and the same error', async () => {
    const { resource = '' } = await offered('numbers', { count: 5 });
    const missing = (await read('sluice-file://nothing')).error;
    expect(missing).toMatchObject({ message: 'Resource not found.' });
    const tries: [string, number][] = [
      [resource, 2],
      [`${resource.slice(0, -2)}AA`, 1],
      [`${resource}?after=5000000`, 1],
      [`${resource}?before=1`, 1],
    ];
    for (const [uri, caller] of tries) {
      const { error } = await read(uri, caller);
      expect([uri, error?.code, error?.message]).toEqual([uri, missing?.code, missing?.message]);
    }
    expect((await read(resource)).error).toBeUndefined();
    const without = [toolsetOf('exports', { tags: ['files'] })];
    await deployVersion(2, without);
    expect((await read(resource)).error).toMatchObject({ message: 'Resource not found.' });
  });
}
