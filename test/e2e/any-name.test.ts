import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import type { Product } from '#test/support/programs.ts';
import { startProduct } from '#test/support/products.ts';

/** Names that every object of JavaScript has without being given them, and one that it has not. */
const NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', '__defineGetter__', 'plain'];
let programs: Product;
let connection_id: string;
let client: Client;
beforeAll(async () => {
  programs = await startProduct({ env: { SVC_DEMO: 'false' } });
  await programs.signIn();
  connection_id = (await programs.api<{ id: string }>('POST', '/connections/sample', {})).id;
  client = new Client({ name: 'names', version: '1' }, { versionNegotiation: { mode: 'auto' } });
}, 60_000);
afterAll(async () => {
  await client.close();
  await programs.stop();
});

/** An object whose own members may have any name. */
const own = (entries: readonly (readonly [string, unknown])[]) =>
  JSON.parse(`{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`) as Record<
    string,
    unknown
  >;

interface Case {
  readonly tool: string;
  readonly parameters: readonly string[];
  readonly sent: readonly string[];
}
const someNames = fc.shuffledSubarray(NAMES, { minLength: 1 });
const cases: fc.Arbitrary<Case> = fc
  .tuple(fc.constantFrom(...NAMES), someNames, someNames)
  .map(([tool, parameters, sent]) => ({ tool, parameters, sent: parameters.filter((name) => sent.includes(name)) }));

test('tools, parameters, columns and prompts may have any name, from the form to the call', async () => {
  let connected = false;
  await fc.assert(
    fc.asyncProperty(cases, async ({ tool, parameters, sent }) => {
      const columns = parameters.map((name) => `:${name} as "${name}"`).join(', ');
      const declared = parameters.map((name) => ({ name, type: 'string', description: 'Any text', required: false }));
      const definition = { connection_id, name: tool, description: 'Returns its arguments.', log_arguments: true };
      const made = await programs.api<{ id: string }>('POST', '/tools', {
        ...definition,
        sql_query: `select ${columns}`,
        parameters: declared,
      });
      const prompt = await programs.api<{ id: string }>('POST', '/prompts', {
        name: tool,
        description: 'Returns its argument.',
        template: `Sent: ${parameters
          .filter((name) => !TEMPLATES_DENY.includes(name))
          .map((name) => `${name}={{ ${name} }};`)
          .join('')}`,
        arguments: parameters.map((name) => ({ name, description: 'Any text', required: false })),
      });
      const tests = await Promise.all(
        [
          { owner: { kind: 'tool', id: made.id }, expect: { rows: { min: 1, max: 1 } } },
          { owner: { kind: 'prompt', id: prompt.id }, expect: {} },
        ].map((draft) =>
          programs.api<{ id: string }>('POST', '/tests', { name: `${draft.owner.kind} ${tool}`, arguments: {}, ...draft }),
        ),
      );
      expect(tests).toHaveLength(2);
      expect(await programs.api('POST', '/tests/run', {})).toMatchObject({ passed: 2, failed: 0 });
      await programs.api('POST', '/deploy', {});
      if (!connected) await client.connect(new StreamableHTTPClientTransport(new URL(programs.mcp_url)));
      connected = true;
      const { tools } = await client.listTools();
      const listed = tools.find(({ name }) => name === tool);
      expect(Object.keys(listed?.inputSchema.properties ?? {}).toSorted()).toEqual(parameters.toSorted());
      const { rows } = (listed?.outputSchema?.properties ?? {}) as Record<
        'rows',
        { items: { properties: object; required: string[] } }
      >;
      expect(Object.keys(rows.items.properties).toSorted()).toEqual(rows.items.required.toSorted());
      expect(rows.items.required.toSorted()).toEqual(parameters.toSorted());
      const args = own(sent.map((name) => [name, `of ${name}`]));
      const { structuredContent, isError } = await client.callTool({ name: tool, arguments: args });
      const [row] = (structuredContent as { rows: Record<string, unknown>[] }).rows;
      expect([isError ?? false, Object.entries(row ?? {})]).toEqual([
        false,
        parameters.map((name) => [name, sent.includes(name) ? `of ${name}` : null]),
      ]);
      const { messages } = await client.getPrompt({ name: tool, arguments: args as Record<string, string> });
      const text = JSON.stringify(messages[0]?.content);
      for (const name of parameters.filter((one) => !TEMPLATES_DENY.includes(one))) {
        expect(text).toContain(`${name}=${sent.includes(name) ? `of ${name}` : ''};`);
      }
      await programs.api('DELETE', `/tools/${made.id}`);
      await programs.api('DELETE', `/prompts/${prompt.id}`);
    }),
    { numRuns: 8, endOnFailure: true, seed: Number(process.env['TEST_SEED'] ?? Date.now()) },
  );
}, 120_000);

/** No template reads them, whatever they are. */
const TEMPLATES_DENY = ['__proto__', 'constructor', 'prototype'];
