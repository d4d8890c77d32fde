import { describe, expect, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { snapshotOf } from '../support.ts';
import { askingHost, KINDS, writingTool } from './confirmation-support.ts';
import { until } from '#test/support/until.ts';

type Answer = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string | number | boolean | string[]> };
type Answerer = (message: string) => Answer | Promise<Answer>;
interface Called {
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
  readonly content: readonly { readonly text?: string }[];
}
interface Asking {
  call(name: string, args: Record<string, unknown>): Promise<Called>;
  close(): Promise<void>;
}

async function modernClient(url: URL, answer: Answerer): Promise<Asking> {
  const client = new ModernClient(
    { name: 'person', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  client.setRequestHandler('elicitation/create', async ({ params }) => answer(params.message) as never);
  await client.connect(new ModernTransport(url));
  return {
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Called,
    close: () => client.close(),
  };
}

async function legacyClient(url: URL, answer: Answerer, capabilities: object = { elicitation: {} }): Promise<Asking> {
  const client = new LegacyClient({ name: 'person', version: '1' }, { capabilities });
  if ('elicitation' in capabilities)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => answer(params.message) as never);
  await client.connect(new LegacyTransport(url));
  return {
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Called,
    close: () => client.close(),
  };
}

const ERAS = [
  { era: '2026-07-28', open: modernClient },
  { era: 'with sessions', open: legacyClient },
] as const;
const YES: Answer = { action: 'accept', content: { ok: true } };

for (const { kind, up } of KINDS) {
  describe.skipIf(!up && process.env['CI'] !== 'true')(`official clients ask, on ${kind}`, () => {
    const at = askingHost();
    const database = at.database(kind, async ({ connection }) => {
      const tools = [
        writingTool(connection, 'remove', { confirm: 'always' }),
        writingTool(connection, 'checked', { confirm: 'always', two_step: true }),
      ];
      await at.control.deploy(snapshotOf(1, { connections: [connection], tools }));
    });
    const logged = (from: number) => at.control.usage.slice(from).flatMap(({ items }) => items);
    const texts = async () => (await database().run('select text from notes order by id')).map(({ text }) => text);

    test('with sessions: a client that answers the question with an error is one that cannot ask', async () => {
      const client = await legacyClient(at.mcp, () => Promise.reject(new Error('no window')));
      const { isError, content } = await client.call('remove', { id: 1 });
      expect([isError, content[0]?.text]).toEqual([true, expect.stringContaining('answered the question with an error')]);
      const { structuredContent } = await client.call('checked', { id: 1 });
      expect(structuredContent).toMatchObject({ confirm_token: expect.any(String), affected_rows: 2 });
      await client.close();
      expect(await texts()).toEqual(['a', 'b']);
    });

    test('with sessions: rows that change again and again are not asked about for ever', async () => {
      let asked = 0;
      const client = await legacyClient(at.mcp, async () => {
        asked += 1;
        await database().run(`insert into notes values (${asked + 2}, 'more')`);
        return YES;
      });
      const { isError, content } = await client.call('remove', { id: 9 });
      await client.close();
      expect([isError, asked, content[0]?.text]).toEqual([true, 3, expect.stringContaining('each of the 3 times')]);
      expect(await texts()).toHaveLength(5);
    });

    test('a call that nobody can be asked about is not counted as asked', async () => {
      const before = at.control.usage.length;
      await legacyClient(at.mcp, () => YES, {}).then(async (client) => {
        expect((await client.call('remove', { id: 1 })).isError).toBe(true);
        await client.close();
      });
      // Nobody who was not asked is said to have been.
      await until(() => logged(before).some((item) => item.error === 'confirmation_required' && !('confirmation' in item)));
    });

    for (const { era, open } of ERAS) {
      const withClient = async (answer: Answerer, work: (client: Asking) => Promise<void>) => {
        const client = await open(at.mcp, answer);
        try {
          await work(client);
        } finally {
          await client.close();
        }
      };

      test(`${era}: a yes is carried out, with what was asked`, async () => {
        const asked: string[] = [];
        const answer: Answerer = (message) => (asked.push(message), YES);
        await withClient(answer, async (client) => {
          const { structuredContent } = await client.call('remove', { id: 1 });
          expect(structuredContent).toMatchObject({ affected_rows: 1 });
        });
        expect(asked).toHaveLength(1);
        expect(asked[0]).toContain('would change 2 rows');
        expect(await texts()).toEqual(['b']);
      });

      test(`${era}: a no changes nothing`, async () => {
        for (const answer of [
          { action: 'decline' },
          { action: 'cancel' },
          { action: 'accept', content: { ok: false } },
        ] as Answer[]) {
          await withClient(
            () => answer,
            async (client) => {
              const { isError, content } = await client.call('remove', { id: 1 });
              expect([isError, content[0]?.text]).toEqual([true, expect.stringContaining('was not confirmed')]);
            },
          );
        }
        expect(await texts()).toEqual(['a', 'b']);
      });

      test(`${era}: rows that change while somebody thinks are asked about again`, async () => {
        const asked: string[] = [];
        const answer: Answerer = async (message) => {
          asked.push(message);
          if (asked.length === 1) await database().run("insert into notes values (3, 'c')");
          return asked.length === 1 ? YES : { action: 'decline' };
        };
        await withClient(answer, async (client) => expect((await client.call('remove', { id: 9 })).isError).toBe(true));
        expect(asked.map((message) => /change (\d+) rows/.exec(message)?.[1])).toEqual(['4', '6']);
        expect(await texts()).toEqual(['a', 'b', 'c']);
      });
    }
  });
}
