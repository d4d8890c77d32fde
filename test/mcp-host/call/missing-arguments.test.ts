import { expect, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { ENVELOPE, parameterOf, snapshotOf, toolOf } from '../support.ts';
import { ask, askingHost, textIn, writingTool } from './confirmation-support.ts';

const at = askingHost();
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
  await at.control.deploy(snapshotOf(1, { connections: [connection], tools }));
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
async function called(mode: 'auto' | 'legacy', name: string, args: Record<string, unknown>, answers: readonly Answer[]) {
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
    return (answers[forms.length - 1] ?? { action: 'cancel' }) as never;
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

test('an answer to a form counts once, and for its own call', async () => {
  const args = { id: 1 };
  const state = stateOf(await ask(at.mcp, 'find', { arguments: args }));
  const other = await ask(at.mcp, 'find', { arguments: { id: 2 }, more: filled(state) });
  expect(textIn(other)).toContain('does not belong to this call');
  const again = await ask(at.mcp, 'find', { arguments: args, more: { requestState: state } });
  expect(again.body.result?.['resultType']).toBe('input_required');
  const first = await ask(at.mcp, 'find', { arguments: args, more: filled(state) });
  expect(first.body.result).toMatchObject({ resultType: 'complete', structuredContent: { rows: [{ id: 1, text: 'a' }] } });
  expect(textIn(await ask(at.mcp, 'find', { arguments: args, more: filled(state) }))).toContain('was used already');
  const tampered = await ask(at.mcp, 'find', { arguments: args, more: filled(`${state}A`) });
  expect(textIn(tampered)).toContain('does not belong to this call');
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
