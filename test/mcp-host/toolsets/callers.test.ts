import { beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { Selection } from '#core/contract/definitions/toolsets.ts';
import { rightsOf } from '#mcp-host/auth/rights.ts';
import { endpointOf } from '#core/edge/mcp-endpoint.ts';
import { loadRegistry } from '#mcp-host/registry/load-registry.ts';
import { createViews } from '#mcp-host/registry/views.ts';
import type { FrozenPrompt, FrozenResource, FrozenTool, FrozenToolset } from '#snapshots/format/format.ts';
import { createRandom } from '#test/support/chance.ts';
import { loadableOf } from '#test/mcp-host/snapshot-forms.ts';
import { connectionOf, promptOf, resourceOf, rpc, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { liveToken, selectionOf, tokenText, toolsetOf } from './toolsets-support.ts';
import { until } from '#test/support/until.ts';

const CALLERS = 32;
const TAGS = ['a', 'b', 'c', 'd', 'e', 'f'];
const draw = createRandom().whole;
const some = <T>(from: readonly T[], most: number): T[] => {
  const count = draw(most + 1);
  return [...new Set(Array.from({ length: count }, () => from[draw(from.length)]!))];
};

const connections = ['north', 'south', 'west'].map((name) => connectionOf({ name }));
const owner = () => connections[draw(connections.length)]!;
const tools: FrozenTool[] = Array.from({ length: 120 }, (_, n) =>
  toolOf(owner(), `tool_${String(n).padStart(3, '0')}`, 'select 1 as n', {
    tags: some(TAGS, 2),
    mode: draw(4) === 0 ? 'write' : 'read',
  }),
);
const resources: FrozenResource[] = Array.from({ length: 30 }, (_, n) =>
  resourceOf(owner(), n % 2 === 0 ? `res://${n}` : `res://${n}/{id}`, 'select 2 as n', {
    name: `resource_${String(n).padStart(3, '0')}`,
    tags: some(TAGS, 1),
  }),
);
const prompts: FrozenPrompt[] = Array.from({ length: 30 }, (_, n) => {
  const own = draw(2) === 0 ? {} : { connection_id: owner().id };
  return { ...promptOf(`prompt_${String(n).padStart(3, '0')}`, 'Hello'), tags: some(TAGS, 1), ...own };
});
const selection = (): Partial<Selection> => ({
  tags: some(TAGS, 1),
  connection_ids: some(connections, 1).map(({ id }) => id),
  tool_ids: some(tools, 6).map(({ id }) => id),
  resource_ids: some(resources, 2).map(({ id }) => id),
  prompt_ids: some(prompts, 2).map(({ id }) => id),
});
const toolsets: FrozenToolset[] = Array.from({ length: 12 }, (_, n) =>
  toolsetOf(`set-${n}`, selection(), { exclude: selectionOf({ ...selection(), connection_ids: [] }), read_only: draw(3) === 0 }),
);
const names = toolsets.map(({ name }) => name);
/** No two callers have the same rights. */
const rights: readonly (readonly string[])[] = Array.from({ length: CALLERS }, (_, n) => [
  ...new Set([names[n % names.length]!, names[Math.floor(n / names.length) * 3]!, names[draw(names.length)]!, `own-${n}`]),
]);

/** Written down once more, without any of the code that is tested. */
function isIn(one: FrozenTool | FrozenResource | FrozenPrompt, toolset: FrozenToolset): boolean {
  const lists = (from: Selection) => [...from.tool_ids, ...from.resource_ids, ...from.prompt_ids].includes(one.id);
  const tagged = (from: Selection) => (one.tags ?? []).some((tag) => from.tags.includes(tag));
  const owned = (from: Selection) => one.connection_id !== undefined && from.connection_ids.includes(one.connection_id);
  const matches = (from: Selection) => lists(from) || tagged(from) || owned(from);
  if (toolset.read_only && 'mode' in one && one.mode === 'write') return false;
  return matches(toolset.include) && !matches(toolset.exclude);
}
const seenBy = <T extends FrozenTool | FrozenResource | FrozenPrompt>(list: readonly T[], own: readonly string[]): T[] =>
  list.filter((one) => toolsets.some((toolset) => own.includes(toolset.name) && isIn(one, toolset)));
const EVERYTHING = CALLERS;

const { control, host } = useHost('all');
const snapshot = snapshotOf(1, { connections, tools, resources, prompts, toolsets, server: { auth_type: 'bearer' } });

beforeAll(async () => {
  await control.deploy(snapshot);
  control.send('tokens', { tokens: await Promise.all([...rights, null].map((own, n) => liveToken(tokenText(n), own))) });
  await until(async () => (await host.health()).access_tokens.as_of !== null);
});

const headersOf = (n: number) => ({ authorization: `Bearer ${tokenText(n)}` });
async function bytes(n: number, method: string, params: object = {}): Promise<string> {
  const response = await fetch(host.mcp, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headersOf(n) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  });
  return `${response.status} ${await response.text()}`;
}

/** Two texts that differ are not written out. */
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

test('32 callers of different rights, asking at once and in turns, each get their own lists to the byte', async () => {
  /** Each item as whoever sees everything gets it, by its name. */
  const itemsOf = async (method: string, member: string): Promise<Map<string, string>> => {
    const { result } = JSON.parse((await bytes(EVERYTHING, method)).slice(4)) as { result: Record<string, { name: string }[]> };
    return new Map((result[member] ?? []).map((item) => [item.name, JSON.stringify(item)]));
  };
  const items = new Map([
    ...(await itemsOf('tools/list', 'tools')),
    ...(await itemsOf('resources/list', 'resources')),
    ...(await itemsOf('resources/templates/list', 'resourceTemplates')),
    ...(await itemsOf('prompts/list', 'prompts')),
  ]);
  const textsOf = (list: readonly { readonly name: string }[]) => list.map(({ name }) => items.get(name) ?? `no ${name}`);
  const expected = rights.map((own) => ({
    tools: textsOf(seenBy(tools, own)),
    resources: textsOf(seenBy(resources, own)),
    prompts: textsOf(seenBy(prompts, own)),
  }));
  expect(new Set(expected.map(({ tools: list }) => list.join())).size).toBeGreaterThan(CALLERS / 2);
  expect(expected.some(({ tools: list }) => list.length === 0 || list.length === tools.length)).toBe(false);
  const isFixed = (text: string) => text.includes('"uri":');
  for (let round = 0; round < 3; round++) {
    await Promise.all(
      expected.map(async (own, n) => {
        const result = (member: string, list: readonly string[]) =>
          `200 {"jsonrpc":"2.0","id":7,"result":{"${member}":[${list.join(',')}]}}`;
        expect(digest(await bytes(n, 'tools/list'))).toBe(digest(result('tools', own.tools)));
        expect(digest(await bytes(n, 'resources/list'))).toBe(digest(result('resources', own.resources.filter(isFixed))));
        const templates = result(
          'resourceTemplates',
          own.resources.filter((text) => !isFixed(text)),
        );
        expect(digest(await bytes(n, 'resources/templates/list'))).toBe(digest(templates));
        expect(digest(await bytes(n, 'prompts/list'))).toBe(digest(result('prompts', own.prompts)));
      }),
    );
  }
});

describe('nothing that is hidden from a caller is told from what was never there', () => {
  /** Every way to name something, with a name put in. */
  const WAYS: readonly (readonly [method: string, of: 'tool' | 'resource' | 'prompt', params: (name: string) => object])[] = [
    ['tools/call', 'tool', (name) => ({ name })],
    ['tools/call', 'tool', (name) => ({ name, arguments: { x: 1 } })],
    ['tools/call', 'tool', (name) => ({ name, arguments: null })],
    ['tools/call', 'tool', (name) => ({ name, _meta: { progressToken: 1 } })],
    ['resources/read', 'resource', (uri) => ({ uri })],
    ['resources/subscribe', 'resource', (uri) => ({ uri })],
    ['resources/unsubscribe', 'resource', (uri) => ({ uri })],
    ['prompts/get', 'prompt', (name) => ({ name })],
    ['prompts/get', 'prompt', (name) => ({ name, arguments: [] })],
    ['completion/complete', 'prompt', (name) => ({ ref: { type: 'ref/prompt', name }, argument: { name: 'x', value: '' } })],
    ['completion/complete', 'resource', (uri) => ({ ref: { type: 'ref/resource', uri }, argument: { name: 'id', value: '' } })],
  ];
  const uriOf = ({ uri_template }: FrozenResource) => uri_template.replace('{id}', '5');
  const hiddenFrom = (own: readonly string[]) => ({
    tool: tools.filter((one) => !seenBy(tools, own).includes(one)).map(({ name }) => name),
    resource: resources.filter((one) => !seenBy(resources, own).includes(one)).flatMap((one) => [uriOf(one), one.uri_template]),
    prompt: prompts.filter((one) => !seenBy(prompts, own).includes(one)).map(({ name }) => name),
  });
  /** As long, and nothing has it. */
  const neverThere = (name: string) => name.replace(/^./, 'z');

  test.each(Array.from({ length: 8 }, (_, n) => n * 4))('caller %i', async (n) => {
    const own = rights[n]!;
    const hidden = hiddenFrom(own);
    const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } }, headersOf(n));
    const session = { ...headersOf(n), 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    for (const [method, of, params] of WAYS) {
      for (const name of hidden[of].filter((_, at) => at % 7 === n % 7)) {
        const ask = async (what: string) => {
          const response = await fetch(host.mcp, {
            method: 'POST',
            headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...session },
            body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params(what) }),
          });
          const kept = [...response.headers].filter(([header]) => !['date', 'x-request-id', 'content-length'].includes(header));
          return JSON.stringify([response.status, await response.text(), kept]).replaceAll(what, '…');
        };
        expect([method, name, await ask(name)]).toEqual([method, name, await ask(neverThere(name))]);
      }
    }
    expect(await bytes(n, 'tools/call', { name: hidden.tool[0] })).toContain('Unknown tool.');
    const everything = (
      await Promise.all(
        ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list', 'initialize'].map((method) =>
          bytes(n, method),
        ),
      )
    ).join();
    for (const name of [...hidden.tool, ...hidden.prompt, ...names]) expect(everything).not.toContain(`"${name}"`);
  });

  test('hidden calls take nothing of a limit, of the cache or of the log', async () => {
    const before = control.usage.flatMap(({ items }) => items).length;
    const own = rights[0]!;
    for (const name of hiddenFrom(own).tool.slice(0, 20)) await bytes(0, 'tools/call', { name });
    const seen = seenBy(tools, own).find(({ mode }) => mode === 'read');
    await bytes(0, 'tools/call', { name: seen?.name });
    const logged = await until(() => {
      const items = control.usage.flatMap((batch) => batch.items).slice(before);
      return items.length > 0 && items;
    });
    expect(logged.map(({ name }) => name)).toEqual([seen?.name ?? '']);
  });
});

describe('views', () => {
  const WHOLE = endpointOf('')!;

  test('are made once for equal rights, whoever has them and in whatever order', async () => {
    const registry = await loadRegistry(loadableOf(snapshot));
    const views = createViews();
    const of = (toolsets: readonly string[] | null, path = '') =>
      views.of(registry, { rights: rightsOf(toolsets), endpoint: endpointOf(path)! });
    expect(of(null)).toBe(registry);
    expect(of(['set-1', 'set-2'])).toBe(of(['set-2', 'set-1', 'set-2']));
    expect(of(['set-1'], '/set-1')).toBe(of(['set-1', 'set-2'], '/set-1'));
    expect(of(null, '/tag/unknown')).toBe(of(['set-1'], '/tag/other'));
    expect(of(['set-1'], '/set-2')).toBeNull();
    expect(of(['set-1', 'own-1'], '/own-1')).toBeNull();
    expect(of(['set-1'])?.lists['tools/list']).toBe(of(['set-1'])?.lists['tools/list']);
  });

  test('are kept within their bound, and those used last stay', async () => {
    const registry = await loadRegistry(loadableOf(snapshot));
    const views = createViews(600);
    const of = (toolsets: readonly string[]) => views.of(registry, { rights: rightsOf(toolsets), endpoint: WHOLE });
    const first = of(['set-0']);
    for (let n = 1; n < 12; n++) {
      of([`set-${n}`]);
      expect(of(['set-0'])).toBe(first);
    }
    const third = of(['set-3']);
    for (let n = 4; n < 12; n++) of([`set-${n}`]);
    expect(of(['set-3'])).not.toBe(third);
  });

  test('of a thousand toolsets in no set are nothing', async () => {
    const registry = await loadRegistry(loadableOf(snapshot));
    const views = createViews();
    const seen = views.of(registry, { rights: rightsOf(Array.from({ length: 1_000 }, (_, n) => `gone-${n}`)), endpoint: WHOLE });
    expect([seen?.tools.size, seen?.prompts.size, seen?.resources.size, seen?.toolsets.size]).toEqual([0, 0, 0, 0]);
  });
});
