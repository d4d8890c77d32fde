import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { getToolUiResourceUri, RESOURCE_MIME_TYPE } from '@modelcontextprotocol/ext-apps/app-bridge';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Browser } from 'playwright-core';
import { toViewPage } from '#mcp-host/registry/view-page.ts';
import { changesBetween } from '#mcp-host/registry/changes.ts';
import { loadRegistry } from '#mcp-host/registry/load-registry.ts';
import type { FrozenTool } from '#snapshots/format/format.ts';
import { toBlobs } from '#snapshots/format/tree.ts';
import {
  connectionOf,
  type ControlServer,
  controlServer,
  hostHere,
  parameterOf,
  snapshotOf,
  sqliteFolder,
  type TestHost,
  toolOf,
} from '#test/mcp-host/support.ts';
import { browserTest, openBrowser } from '#test/support/browser.ts';
import { openViewClients, viewHtml } from './view-client.ts';
import { until } from '#test/support/until.ts';

const APPS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } } };
const PAGE = toViewPage('<!doctype html><title>A page</title>');
const NOW = 1_800_000_000_000;

const folder = sqliteFolder();
let control: ControlServer;
/** One host with the page, and one as it was before there were any. */
let host: TestHost;
let before: TestHost;

const shop = connectionOf({});
const SCORES = 'select name, score from customers where score >= :least order by name';
const SHORT = { max_bytes: 10_000 };
const SCORES_VIEW = { kind: 'bar' as const, x: 'name', y: ['score'], title: 'Scores' };
const TOOLS = [
  toolOf(shop, 'customers', 'select id, name from customers order by id', SHORT),
  toolOf(shop, 'scores', SCORES, {
    parameters: [parameterOf('least', 'number')],
    view: SCORES_VIEW,
    max_bytes: 200_000,
  }),
  toolOf(shop, 'hidden', 'select 1 as one', { ...SHORT, view: { kind: 'none' } }),
  toolOf(shop, 'text', 'select name from customers', { ...SHORT, return_type: 'text' }),
  toolOf(shop, 'templated', 'select name from customers', { ...SHORT, transform_template: '{{ rows | tojson }}' }),
];

beforeAll(async () => {
  control = controlServer();
  const fixed = { now: () => NOW, ticks: () => performance.now() };
  host = await hostHere(folder.directory, control.url, { ...fixed, id: 'with', view_page: PAGE });
  before = await hostHere(folder.directory, control.url, { ...fixed, id: 'without' });
  await until(() => host.host.health().control.connected && before.host.health().control.connected);
  await control.deploy(snapshotOf(1, { connections: [shop], tools: TOOLS }));
  await until(() => host.host.health().snapshot_version === 1 && before.host.health().snapshot_version === 1);
});
afterAll(async () => {
  await Promise.all([host.stop(), before.stop()]);
  await control.stop();
  folder.remove();
});

interface Client {
  tools(): Promise<Record<string, Record<string, unknown> | undefined>>;
  call(name: string, args?: Record<string, unknown>): Promise<{ _meta?: Record<string, unknown>; structuredContent?: unknown }>;
  read(uri: string): Promise<unknown>;
  extensions(): unknown;
  close(): Promise<void>;
}

async function modern(url: URL, capabilities: object): Promise<Client> {
  const client = new ModernClient(
    { name: 'apps', version: '1' },
    { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  await client.connect(new ModernTransport(url));
  return {
    tools: async () => Object.fromEntries((await client.listTools()).tools.map(({ name, _meta }) => [name, _meta])),
    call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as never,
    read: async (uri) => (await client.readResource({ uri })).contents,
    extensions: () => client.getServerCapabilities()?.extensions,
    close: () => client.close(),
  };
}

async function withSession(url: URL, capabilities: object): Promise<Client> {
  const client = new LegacyClient({ name: 'apps', version: '1' }, { capabilities });
  await client.connect(new LegacyTransport(url));
  return {
    tools: async () => Object.fromEntries((await client.listTools()).tools.map(({ name, _meta }) => [name, _meta])),
    call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as never,
    read: async (uri) => (await client.readResource({ uri })).contents,
    extensions: () => (client.getServerCapabilities() as { extensions?: unknown } | undefined)?.extensions,
    close: () => client.close(),
  };
}

const UI = { ui: { resourceUri: PAGE.uri }, 'ui/resourceUri': PAGE.uri };

for (const [era, open] of [
  ['2026-07-28', modern],
  ['with sessions', withSession],
] as const) {
  describe(`a client that draws, ${era}`, () => {
    let client: Client;
    beforeAll(async () => {
      client = await open(host.mcp, APPS);
    });
    afterAll(() => client.close());

    test('is told the page of every tool with structured results', async () => {
      expect(client.extensions()).toEqual({ 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } });
      expect(await client.tools()).toEqual({
        customers: UI,
        scores: { 'anthropic/maxResultSizeChars': 200_000, ...UI, 'sluice/view': SCORES_VIEW },
        hidden: undefined,
        text: undefined,
        templated: undefined,
      });
    });

    test('reads the page, also at the address of an earlier one', async () => {
      const page = (uri: string) => [
        { uri, mimeType: RESOURCE_MIME_TYPE, text: PAGE.html, _meta: { ui: { prefersBorder: true } } },
      ];
      const old = 'ui://sluice/view-0123456789abcdef.html';
      expect(await client.read(PAGE.uri)).toEqual(page(PAGE.uri));
      expect(await client.read(old)).toEqual(page(old));
      for (const other of ['other.html', 'view-.html', 'view-a.b.html', 'view-a/b.html', 'view-%61.html', 'view-ä.html'])
        expect(client.read(`ui://sluice/${other}`)).rejects.toThrow('Resource not found.');
    });

    test('gets what a tool says of its view with the result, and nothing where it says nothing', async () => {
      const scores = await client.call('scores', { least: 0 });
      expect(scores._meta?.['sluice/view']).toEqual(SCORES_VIEW);
      expect((await client.call('customers'))._meta?.['sluice/view']).toBeUndefined();
      expect((await client.call('hidden'))._meta?.['sluice/view']).toBeUndefined();
    });
  });
}

test('a client is told when a tool gets, changes or loses its view', async () => {
  const of = (view?: FrozenTool['view']) => {
    const tool = toolOf(shop, 'one', 'select 1 as one', { ...SHORT, id: 'one', ...(view && { view }) });
    const { content, ...rest } = snapshotOf(2, { connections: [shop], tools: [tool] });
    const blobs = toBlobs(content);
    const texts = new Map(blobs.map(({ hash, text }) => [hash, text]));
    return loadRegistry({ ...rest, leaves: blobs, textOf: (hash) => texts.get(hash) }, null, NOW, PAGE.uri);
  };
  const [inferred, bars, none] = [await of(), await of({ kind: 'bar' }), await of({ kind: 'none' })];
  expect(changesBetween(inferred, none).kinds).toEqual(['tools']);
  expect(changesBetween(none, bars).kinds).toEqual(['tools']);
  expect(changesBetween(inferred, bars).kinds).toEqual(['tools']);
});

describe('a client that declares nothing', () => {
  const META = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const CALLS = [
    ['tools/list', {}],
    ['resources/list', {}],
    ['server/discover', {}],
    ['tools/call', { name: 'scores', arguments: { least: 0 } }],
    ['tools/call', { name: 'customers', arguments: {} }],
  ] as const;

  async function answers({ mcp }: TestHost): Promise<string[]> {
    const post = async (message: object, headers: Record<string, string>) => {
      const response = await fetch(mcp, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
        body: JSON.stringify(message),
      });
      return { text: await response.text(), session: response.headers.get('mcp-session-id') ?? '' };
    };
    const texts: string[] = [];
    for (const [method, params] of CALLS) {
      const named = 'name' in params ? { 'mcp-name': params.name } : {};
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...named } as Record<string, string>;
      texts.push((await post({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }, headers)).text);
    }
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'old', version: '1' } };
    const { text, session } = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello }, {});
    texts.push(text);
    for (const [method, params] of CALLS.filter(([name]) => name !== 'server/discover')) {
      texts.push((await post({ jsonrpc: '2.0', id: 2, method, params }, { 'mcp-session-id': session })).text);
      texts.push((await post({ jsonrpc: '2.0', id: 3, method, params }, {})).text);
    }
    return texts;
  }

  test('gets the page in lists and capabilities, in both revisions, and the same bytes in results', async () => {
    const texts = await answers(host);
    const plain = await answers(before);
    expect(texts.length).toBe(14);
    for (const [n, text] of texts.entries()) {
      expect(text).toContain('"result":{');
      const members = (JSON.parse(text) as { result: { tools?: { name: string; _meta?: unknown }[]; capabilities?: object } })
        .result;
      const { tools, capabilities } = members;
      if (tools !== undefined) {
        const metas = Object.fromEntries(tools.map(({ name, _meta }) => [name, _meta]));
        expect(metas['customers']).toEqual(UI);
        expect(metas['scores']).toEqual({ 'anthropic/maxResultSizeChars': 200_000, ...UI, 'sluice/view': SCORES_VIEW });
        expect(metas['hidden']).toBeUndefined();
      } else if (capabilities !== undefined) expect(capabilities).toHaveProperty('extensions', APPS.extensions);
      else expect(text).toBe(plain[n] ?? '');
    }
  });

  test('is told nothing by a host without a page, whatever it declares', async () => {
    const client = await modern(before.mcp, APPS);
    expect(client.extensions()).toBeUndefined();
    expect((await client.tools())['customers']).toBeUndefined();
    expect(client.read(PAGE.uri)).rejects.toThrow('Resource not found.');
    await client.close();
  });
});

browserTest('from the official client, which declares nothing, over the host to a drawn chart', async () => {
  const page = toViewPage(viewHtml());
  const drawing = await hostHere(folder.directory, control.url, { id: 'drawing', view_page: page });
  const clients = await openViewClients();
  let browser: Browser | undefined;
  try {
    await until(() => drawing.host.health().snapshot_version === 1);
    const client = new ModernClient({ name: 'apps', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new ModernTransport(drawing.mcp));
    const tool = (await client.listTools()).tools.find(({ name }) => name === 'scores');
    if (tool === undefined) throw new Error('The tool is not listed.');
    const uri = getToolUiResourceUri(tool) ?? '';
    const [contents] = (await client.readResource({ uri })).contents;
    if (contents === undefined || !('text' in contents)) throw new Error('The page is no text.');
    const call = (least: number) => client.callTool({ name: 'scores', arguments: { least } });
    browser = await openBrowser();
    const shown = await clients.show(browser, {
      html: contents.text,
      context: { toolInfo: { tool } },
      again: await call(2),
    });
    await shown.page.evaluate(() => window.client.input({ least: 0 }));
    await shown.page.evaluate((given) => window.client.result(given), (await call(0)) as never);
    await shown.view.waitForSelector('h2:has-text("Scores")');
    expect(await shown.view.getAttribute('svg', 'aria-label')).toBe('Bar chart of score by name, 2 values');
    expect(await shown.view.locator('svg rect').count()).toBe(2);
    await shown.view.click('summary');
    await shown.view.fill('label:has-text("least") input', '2');
    await shown.view.press('label:has-text("least") input', 'Enter');
    await shown.view.waitForSelector('svg[aria-label="Bar chart of score by name, 1 value"]');
    expect(await shown.page.evaluate(() => window.client.calls)).toEqual([{ name: 'scores', arguments: { least: 2 } }]);
    expect(shown.faults).toEqual([]);
    await client.close();
  } finally {
    await browser?.close();
    await clients.stop();
    await drawing.stop();
  }
});
