import { describe, expect, test } from 'bun:test';
import { connectionOf, modern, promptOf, rpc, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';

const { control, host } = useHost('all');
const shop = connectionOf({});
const look = toolOf(shop, 'find_customers', 'select 1 as n');
const change = toolOf(shop, 'rename', 'delete from customers', { mode: 'write' });
let version = 0;

const told = async (): Promise<readonly unknown[]> => {
  const discovered = await modern(host.mcp, 'server/discover');
  const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
  return [discovered.body.result?.['instructions'], opened.body.result?.['instructions']];
};
const serve = (content: Parameters<typeof snapshotOf>[1]) => control.deploy(snapshotOf(++version, content));

describe('instructions', () => {
  test('are what the administrator wrote, in both protocol versions', async () => {
    await serve({
      connections: [shop],
      tools: [look],
      server: { instructions: 'Customers of the shop.' },
    });
    expect(await told()).toEqual(['Customers of the shop.', 'Customers of the shop.']);
  });

  test('say otherwise what there is to look up, and which tools change data', async () => {
    await serve({ connections: [shop], tools: [look, change] });
    const text =
      'Shop has current data from databases. Look here for: find customers, rename. Tools that change data: rename. A result with truncated true is not complete: ask for less.';
    expect(await told()).toEqual([text, text]);
  });

  test('stay within what clients read, however many tools there are', async () => {
    const tools = Array.from({ length: 400 }, (_, n) => ({ ...look, id: `t${n}`, name: `find_customers_of_region_${n}` }));
    await serve({ connections: [shop], tools });
    const [text] = await told();
    expect(String(text).length).toBeLessThan(2_049);
    expect(text).toMatch(/ and \d+ more\./);
  });

  test('are left out where there is nothing, and speak of prompts where there is nothing else', async () => {
    await serve({});
    expect(await told()).toEqual([undefined, undefined]);
    await serve({ prompts: [promptOf('greet', 'Hello')] });
    expect((await told())[0]).toBe('Shop has prompts for working with databases.');
  });
});

test('the challenge of OpenAI is served as it was set, and only then', async () => {
  const at = () => fetch(new URL('/.well-known/openai-apps-challenge', host.mcp));
  await serve({});
  expect((await at()).status).toBe(404);
  await serve({ server: { openai_apps_challenge: 'abc.DEF-1' } });
  const answer = await at();
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([200, 'text/plain', 'abc.DEF-1']);
  expect((await fetch(new URL('/.well-known/openai-apps-challenge', host.mcp), { method: 'POST' })).status).toBe(405);
});
