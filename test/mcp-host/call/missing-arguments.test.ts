import { afterEach, expect, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { openRedisLimits } from '#core/cluster/redis-limits.ts';
import { reachable, redisUrl } from '#test/support/databases.ts';
import { ENVELOPE, parameterOf, snapshotOf, sqliteFolder, textOf, toolOf } from '../support.ts';
import { ask, askingHost, hostsServing, writingTool, writtenDatabase } from './confirmation-support.ts';
import { paced } from '#test/support/paced.ts';
import { until } from '#test/support/until.ts';

let clock = Date.now();
const at = askingHost({ now: () => clock });
let deployed: Parameters<typeof snapshotOf>[1] = {};
const database = at.database('sqlite', async ({ connection }) => {
  const parameters = [parameterOf('id', 'integer'), parameterOf('text', 'string')];
  const sql = 'select id, text from notes where id = :id and text = :text';
  const tools = [
    toolOf(connection, 'find', sql, { parameters, ask_missing: true }),
    toolOf(connection, 'plain', sql, { parameters }),
    toolOf(connection, 'several', 'select id from notes where id in (:ids)', {
      parameters: [{ ...parameterOf('ids', 'array'), items: 'integer' }],
      ask_missing: true,
    }),
    writingTool(connection, 'remove', { confirm: 'always', ask_missing: true }),
  ];
  deployed = { connections: [connection], tools };
  await at.control.deploy(snapshotOf(1, deployed));
});

type Content = Record<string, string | number | boolean | string[]>;
type Answer = { action: 'accept' | 'decline' | 'cancel'; content?: Content };
interface Form {
  readonly message: string;
  readonly requestedSchema: { readonly properties: Record<string, unknown>; readonly required: readonly string[] };
}
interface Called {
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
  readonly content: readonly { readonly text?: string }[];
}
const filling = (content: Content): Answer => ({ action: 'accept', content });

/** Calls once with the official client, whose person answers the forms in turn. */
async function called(
  mode: 'auto' | 'legacy',
  name: string,
  args: Record<string, unknown>,
  answers: readonly (Answer | Promise<Answer> | Error)[],
) {
  const forms: Form[] = [];
  const client = new ModernClient(
    { name: 'person', version: '1' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: mode === 'legacy' ? 'legacy' : { pin: '2026-07-28' } },
    },
  );
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    forms.push(params as never);
    const answer = answers[forms.length - 1] ?? { action: 'cancel' };
    if (answer instanceof Error) throw answer;
    return answer;
  });
  await client.connect(new ModernTransport(at.mcp));
  try {
    const result = (await client.callTool({ name, arguments: args })) as Called;
    return { result, forms, text: result.content.map(({ text }) => text).join('\n') };
  } finally {
    await client.close();
  }
}

for (const mode of ['auto', 'legacy'] as const) {
  const era = mode === 'auto' ? '2026-07-28' : 'with sessions';

  test(`${era}: missing arguments are asked for by one form`, async () => {
    const { result, forms } = await called(mode, 'find', {}, [filling({ id: 2, text: 'b' })]);
    expect(result.structuredContent).toMatchObject({ rows: [{ id: 2, text: 'b' }] });
    expect(forms).toHaveLength(1);
    expect(forms[0]?.message).toBe('“find” needs 2 more arguments: id, text.');
    expect(forms[0]?.requestedSchema).toMatchObject({
      properties: { id: { type: 'integer' }, text: { type: 'string' } },
      required: ['id', 'text'],
    });
    const half = await called(mode, 'find', { id: 1 }, [filling({ text: 'a', id: 2 })]);
    expect(Object.keys(half.forms[0]?.requestedSchema.properties ?? {})).toEqual(['text']);
    expect(half.result.structuredContent).toMatchObject({ rows: [{ id: 1, text: 'a' }] });
  });

  test(`${era}: a form that is declined, or filled in wrongly, is the refusal of the call`, async () => {
    for (const action of ['decline', 'cancel'] as const) {
      const { result, text } = await called(mode, 'find', { id: 1 }, [{ action }]);
      expect([result.isError, text]).toEqual([
        true,
        expect.stringContaining('text is required. A person was asked and declined.'),
      ]);
    }
    const wrong = await called(mode, 'find', { text: 'a' }, [filling({ id: 2 ** 60 })]);
    expect([wrong.result.isError, wrong.text]).toEqual([true, expect.stringContaining('id is beyond 2^53')]);
    expect(wrong.forms).toHaveLength(1);
  });

  test(`${era}: nobody is asked where a form would not help`, async () => {
    for (const [name, args] of [
      ['several', {}],
      ['plain', {}],
      ['find', { id: 'x' }],
      ['find', { id: 1, txt: 'a' }],
    ] as const) {
      const { result, forms } = await called(mode, name, args, []);
      expect([name, result.isError, forms.length]).toEqual([name, true, 0]);
    }
  });

  test(`${era}: arguments are asked for before the write is confirmed`, async () => {
    const { result, forms } = await called(mode, 'remove', {}, [filling({ id: 1 }), filling({ ok: true })]);
    expect(result.structuredContent).toMatchObject({ affected_rows: 1 });
    expect(forms.map(({ message }) => message)).toEqual([
      '“remove” needs 1 more argument: id.',
      expect.stringContaining('would change 2 rows'),
    ]);
    expect(await database().run('select id from notes')).toEqual([{ id: 2 }]);
  });
}

const stateOf = (answer: Awaited<ReturnType<typeof ask>>): string => String(answer.body.result?.['requestState']);
const filled = (state: string) => ({ requestState: state, inputResponses: { arguments: filling({ text: 'a' }) } });

test('whoever filled in a part is asked for the rest, and nobody is asked twice for nothing', async () => {
  const reply = (state: string, content: Content) =>
    ask(at.mcp, 'find', { arguments: {}, more: { requestState: state, inputResponses: { arguments: filling(content) } } });
  const first = stateOf(await ask(at.mcp, 'find', { arguments: {} }));
  const half = await reply(first, { id: 1 });
  expect(half.body.result).toMatchObject({
    resultType: 'input_required',
    inputRequests: { arguments: { params: { message: '“find” needs 1 more argument: text.' } } },
  });
  expect(stateOf(half)).not.toBe(first);
  expect((await reply(stateOf(half), { text: 'a' })).body.result).toMatchObject({
    structuredContent: { rows: [{ id: 1, text: 'a' }] },
  });
  const nothing = await reply(stateOf(await ask(at.mcp, 'find', { arguments: {} })), {});
  expect([nothing.body.result?.['isError'], textOf(nothing)]).toEqual([true, expect.stringContaining('id is required')]);
});

test('what a person took to answer is no part of the duration of the call', async () => {
  const logged = () => at.control.usage.flatMap(({ items }) => items);
  const before = logged().length;
  const answered = Bun.sleep(1_000).then(() => filling({ id: 1, text: 'a' }));
  const { result } = await called('legacy', 'find', {}, [answered]);
  expect(result.structuredContent).toMatchObject({ rows: [{ id: 1, text: 'a' }] });
  const [call] = await until(() => (logged().length > before ? logged().slice(before) : null));
  expect(call?.duration_ms).toBeLessThan(paced(500));
  const states = at.control.usage.flatMap(({ running = [] }) => running.map(({ state }) => state));
  expect(states).toContain('asking');
});

test('a client that answers a form with an error gets the refusal as it is without asking', async () => {
  const plain = await called('legacy', 'plain', {}, []);
  const refused = await called('legacy', 'find', {}, [new Error('no window')]);
  expect([refused.forms.length, refused.result.isError, refused.text]).toEqual([1, true, plain.text]);
});

test('an answer to a form counts once, and for its own call', async () => {
  const args = { id: 1 };
  const state = stateOf(await ask(at.mcp, 'find', { arguments: args }));
  const other = await ask(at.mcp, 'find', { arguments: { id: 2 }, more: filled(state) });
  expect(textOf(other)).toContain('does not belong to this call');
  const again = await ask(at.mcp, 'find', { arguments: args, more: { requestState: state } });
  expect(again.body.result?.['resultType']).toBe('input_required');
  const first = await ask(at.mcp, 'find', { arguments: args, more: filled(state) });
  expect(first.body.result).toMatchObject({ resultType: 'complete', structuredContent: { rows: [{ id: 1, text: 'a' }] } });
  expect(textOf(await ask(at.mcp, 'find', { arguments: args, more: filled(state) }))).toContain('was used already');
  const tampered = await ask(at.mcp, 'find', { arguments: args, more: filled(`${state}A`) });
  expect(textOf(tampered)).toContain('does not belong to this call');
});

test('a form that comes too late, or after a deploy, is put again', async () => {
  const args = { id: 1 };
  const late = stateOf(await ask(at.mcp, 'find', { arguments: args }));
  clock += 120_001;
  const again = await ask(at.mcp, 'find', { arguments: args, more: filled(late) });
  expect(again.body.result?.['resultType']).toBe('input_required');
  const before = stateOf(again);
  await at.control.deploy(snapshotOf(2, { ...deployed, server: { server_name: 'Renamed' } }));
  const moved = await ask(at.mcp, 'find', { arguments: args, more: filled(before) });
  expect(moved.body.result?.['resultType']).toBe('input_required');
  const done = await ask(at.mcp, 'find', { arguments: args, more: filled(stateOf(moved)) });
  expect(done.body.result).toMatchObject({ resultType: 'complete', structuredContent: { rows: [{ id: 1, text: 'a' }] } });
});

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

test.each([true, false])('two hosts take a form of each other once, where they share Redis: %p', async (shared) => {
  if (shared && !reachable.redis) return;
  const folder = sqliteFolder();
  ends.push(() => folder.remove());
  const own = await writtenDatabase('sqlite', folder);
  ends.push(() => own.drop());
  const space = crypto.randomUUID();
  const parameters = [parameterOf('id', 'integer'), parameterOf('text', 'string')];
  const sql = 'select id, text from notes where id = :id and text = :text';
  const { one, two } = await hostsServing(
    folder,
    ends,
    () => ({ redis: shared ? openRedisLimits(redisUrl, space, () => undefined) : null }),
    { connections: [own.connection], tools: [toolOf(own.connection, 'find', sql, { parameters, ask_missing: true })] },
  );
  const state = stateOf(await ask(one.host.mcp, 'find', { arguments: { id: 1 } }));
  const elsewhere = await ask(two.host.mcp, 'find', { arguments: { id: 1 }, more: filled(state) });
  expect(elsewhere.body.result?.['resultType']).toBe(shared ? 'complete' : 'input_required');
  const here = await ask(one.host.mcp, 'find', { arguments: { id: 1 }, more: filled(state) });
  expect(here.body.error?.code ?? here.body.result?.['resultType']).toBe(shared ? -32_602 : 'complete');
});

test('what a form gave does not confirm a write', async () => {
  const state = stateOf(await ask(at.mcp, 'remove', { arguments: {} }));
  const inputResponses = { arguments: filling({ id: 9 }), confirm: filling({ ok: true }) };
  const answer = await ask(at.mcp, 'remove', { arguments: {}, more: { requestState: state, inputResponses } });
  expect(answer.body.result?.['resultType']).toBe('input_required');
  expect(await database().run('select count(*) as n from notes')).toEqual([{ n: 2 }]);
});

test('clients without forms get the refusal as it is without asking', async () => {
  const refusals = await Promise.all(
    ['find', 'plain'].map(async (name) => (await ask(at.mcp, name, { arguments: {}, envelope: ENVELOPE })).body),
  );
  expect(refusals[0]).toEqual(refusals[1]);
  expect(refusals[0]?.result).toMatchObject({ isError: true });
});
