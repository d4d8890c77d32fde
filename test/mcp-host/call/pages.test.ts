import { beforeEach, describe, expect, test } from 'bun:test';
import type { FrozenTool } from '#snapshots/format/format.ts';
import { connection, ENVELOPE, parameterOf, snapshotOf, textOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { liveToken, tokenText } from '../toolsets/toolsets-support.ts';
import { ask } from './confirmation-support.ts';
import { until } from '#test/support/until.ts';

const { control, host } = useHost('all');
const ID = { column: 'id', desc: false, type: 'INTEGER', kind: 'bigint' } as const;
const tool = (name: string, more: Omit<Partial<FrozenTool>, 'parameters'> = {}) =>
  toolOf(connection, name, 'select id, name from customers where id > :above', {
    parameters: [{ ...parameterOf('above', 'integer'), required: false, default: 0 }],
    max_rows: 2,
    page_by: [ID],
    ...more,
  });
const TOOLS = [
  tool('list'),
  tool('other'),
  tool('csv', { return_type: 'csv' }),
  tool('names', { return_type: 'column' }),
  tool('table', { text_format: 'markdown' }),
  tool('kept', { cache_ttl_seconds: 60 }),
  tool('tokens', { max_rows: 100, max_tokens: 25 }),
];

const [mine = {}, theirs = {}] = [1, 2].map((n) => ({ authorization: `Bearer ${tokenText(n)}` }));
let version = 0;
const deployTools = (tools: FrozenTool[] = TOOLS) =>
  control.deploy(snapshotOf(++version, { connections: [connection], tools, server: { auth_type: 'bearer' } }));
beforeEach(async () => {
  await deployTools();
  control.send('tokens', { tokens: await Promise.all([1, 2].map((n) => liveToken(tokenText(n), null))) });
  await until(async () => (await callPage('list')).status === 200);
});

const callPage = (name: string, args: Record<string, unknown> = {}, headers = mine) =>
  ask(host.mcp, name, { arguments: args, headers, envelope: ENVELOPE });
interface Page {
  readonly rows: { readonly id: number }[];
  readonly next?: string;
  readonly truncated: boolean;
}
const page = async (name: string, args: Record<string, unknown> = {}): Promise<Page> => {
  const answer = await callPage(name, args);
  if (answer.body.result?.['isError'] === true) throw new Error(textOf(answer));
  return answer.body.result?.['structuredContent'] as Page;
};

describe('a result that is cut', () => {
  test('says how to get the rest, and the last page says nothing', async () => {
    const first = await page('list');
    expect([first.rows.map(({ id }) => id), first.truncated]).toEqual([[1, 2], true]);
    expect(textOf(await callPage('list'))).toContain('after set to the value of next');
    const last = await callPage('list', { after: first.next });
    expect(last.body.result?.['structuredContent']).toEqual({
      rows: [{ id: 3, name: 'Edsger' }],
      row_count: 1,
      truncated: false,
    });
    expect(await page('list', { above: 1 })).toEqual({
      rows: [
        { id: 2, name: 'Grace' },
        { id: 3, name: 'Edsger' },
      ],
      row_count: 2,
      truncated: false,
    } as never);
  });

  test('goes on for the same caller, tool, arguments and version alone, and only as it was sealed', async () => {
    const { next = '' } = await page('list');
    const refused: [string, Promise<Awaited<ReturnType<typeof callPage>>>][] = [
      ['another call', callPage('list', { after: next }, theirs)],
      ['another call', callPage('other', { after: next })],
      ['another call', callPage('list', { after: next, above: 1 })],
      ['must be the value of next', callPage('list', { after: `${next.slice(0, -4)}AAAA` })],
      ['must be the value of next', callPage('list', { after: 7 })],
      ['must be the value of next', callPage('list', { after: '' })],
      ['must be the value of next', callPage('list', { after: 'x'.repeat(20_000) })],
    ];
    for (const [words, answer] of refused) {
      const refusal = await answer;
      expect([words, refusal.body.result?.['isError'], textOf(refusal)]).toEqual([words, true, expect.stringContaining(words)]);
    }
    expect((await page('list', { after: next })).rows).toHaveLength(1);
    expect((await page('list', { after: next })).rows).toHaveLength(1);
    await deployTools([...TOOLS, tool('more')]);
    const late = await callPage('list', { after: next });
    expect(textOf(late)).toContain('another version');
    expect(Buffer.from(next, 'base64url').toString('latin1')).not.toContain('position');
  });

  test('says it in every form of result', async () => {
    const csv = await callPage('csv');
    const [, cursor = ''] = /after set to "([\w-]+)"/.exec(textOf(csv)) ?? [];
    expect(textOf(csv)).toStartWith('id,name\r\n1,Ada\r\n2,Grace\r\n');
    expect(textOf(await callPage('csv', { after: cursor }))).toBe('id,name\r\n3,Edsger\r\n');
    const names = await callPage('names');
    expect(names.body.result?.['structuredContent']).toMatchObject({ values: [1, 2], truncated: true, next: expect.any(String) });
    const table = await callPage('table');
    expect(textOf(table)).toStartWith('| id | name |\n| --- | --- |\n| 1 | Ada |\n| 2 | Grace |');
    const [, from_text = ''] = /after set to "([\w-]+)"/.exec(textOf(table)) ?? [];
    expect(table.body.result?.['structuredContent']).toMatchObject({ next: from_text });
    expect(textOf(await callPage('table', { after: from_text }))).toBe('| id | name |\n| --- | --- |\n| 3 | Edsger |');
  });

  test('is kept for its caller and version alone', async () => {
    const nextOf = async (headers: typeof mine) => {
      const { body } = await callPage('kept', {}, headers);
      return String((body.result?.['structuredContent'] as Page | undefined)?.next);
    };
    const own = await nextOf(mine);
    expect(await nextOf(mine)).toBe(own);
    const other = await nextOf(theirs);
    expect(other).not.toBe(own);
    const last = await callPage('kept', { after: other }, theirs);
    expect(last.body.result?.['structuredContent']).toMatchObject({ row_count: 1, truncated: false });
    await deployTools([...TOOLS, tool('more')]);
    expect((await page('kept', { after: await nextOf(mine) })).rows).toHaveLength(1);
  });

  test('is cut at the limit of tokens', async () => {
    const { rows, next } = await page('tokens');
    expect([rows.map(({ id }) => id), next === undefined]).toEqual([[1, 2], false]);
  });
});

test('long results are cut by tokens and carry their cursor', async () => {
  const many = toolOf(
    connection,
    'many',
    'with recursive n(id) as (select 1 union all select id + 1 from n where id < 3000) select c.id * 10000 + n.id as id, c.id as part from n, customers c',
    { max_rows: 700, page_by: [{ ...ID, column: 'part' }], timeout_ms: 10_000 },
  );
  const alone = toolOf(connection, 'alone', 'select id, name from customers', { max_tokens: 25 });
  await deployTools([...TOOLS, many, alone]);
  const refused = await callPage('many');
  expect(textOf(refused)).toContain('More rows than fit on a page have the same part');
  const cut = await page('alone');
  expect([cut.rows.length, cut.truncated, cut.next]).toEqual([2, true, undefined]);
});
