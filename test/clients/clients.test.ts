import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Programs, removeFolder, startPrograms } from '../support/programs.ts';
import { AGENTS, codex } from './agents.ts';
import { CALLERS, inspector, inspectorTo, mcporter, mcporterTo } from './callers.ts';
import { type Client, isInstalled, withSetup } from './client.ts';

/** Clients that people use, as npm offers them, against the programs as `npm start` runs them with the sample shop. */
const TOOLS = ['get_customer', 'list_orders', 'sales_by_category', 'search_products', 'spending_per_month'];
const CALL = { name: 'search_products', arguments: { categories: ['garden', 'sports'], max_price: 20, limit: 5 } };
const REGISTRATION = 'send a token as Authorization: Bearer';

let open: Programs;
let closed: Programs;
let token: string;
beforeAll(async () => {
  [open, closed] = await Promise.all([startShop(), startShop()]);
  await closed.signIn();
  await closed.api('PATCH', '/server/config', { auth_type: 'bearer' });
  token = (await closed.api<{ token: string }>('POST', '/mcp-tokens', { name: 'clients', all_toolsets: true })).token;
  await closed.api('POST', '/deploy', {});
}, 60_000);
afterAll(async () => {
  for (const programs of [open, closed]) {
    await programs?.stop();
    if (programs !== undefined) removeFolder(programs);
  }
});

async function startShop(): Promise<Programs> {
  const programs = await startPrograms();
  await programs.demo();
  return programs;
}

const toOpen = () => ({ url: open.mcp_url, token: '', call: CALL });
const toClosed = () => ({ url: closed.mcp_url, token, call: CALL });
const withoutToken = () => ({ url: closed.mcp_url.replace('127.0.0.1', 'localhost'), token: '', call: CALL });

/** One skipped test stands for all tests of a client that is not installed. */
function describeClient(client: Client, tests: () => void): void {
  if (isInstalled(client)) describe(client.name, tests);
  else test.skip(`${client.name}: ${client.package} is not installed in test/clients`, () => {});
}

for (const client of [...AGENTS, ...CALLERS]) {
  describeClient(client, () => {
    test.each([
      ['without authentication', toOpen],
      ['with a token', toClosed],
    ])('%s lists the tools, calls one and gets the rows', async (_, server) => {
      const { tools, result } = await withSetup(server(), client.run);
      expect(TOOLS.filter((tool) => tools.some((name) => name.endsWith(tool)))).toEqual(TOOLS);
      expect(result).toContain('Candle');
      expect(result).toContain('15.75');
      expect(result).not.toContain('Atlas');
    });

    test('without the token that the server wants says what to do, at the address that people type', async () => {
      expect(await withSetup(withoutToken(), client.refused)).toContain(client.refusal ?? REGISTRATION);
    });
  });
}

describeClient(codex, () => {
  test('leaves the format of a date out, and the model reads it in the description', async () => {
    const offered = await withSetup(toOpen(), async (setup) => {
      await codex.run(setup);
      return setup.model.offered.get('list_orders');
    });
    expect(offered).toMatchObject({
      properties: { from: { type: 'string', description: expect.stringContaining('YYYY-MM-DD') } },
    });
  });
});

describeClient(mcporter, () => {
  test('writes functions with the required parameters first', async () => {
    const functions = await withSetup(toOpen(), (setup) => mcporterTo(setup, 'list', setup.url));
    expect(functions).toMatch(/function list_orders\(from: string[^,]*, to: string[^,]*, status\?: /);
  });
});

describeClient(inspector, () => {
  test('finds no schema that other clients could not read', async () => {
    const listed = await withSetup(toOpen(), (setup) => inspectorTo(setup, '--method', 'tools/list', '--strict'));
    expect(listed).toContain('search_products');
    expect(listed).not.toMatch(/Warning: |Error: /);
  });
});
