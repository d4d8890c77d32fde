import { describe, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { skillName } from '#mcp-host/registry/skill.ts';
import { connectionOf, modern, promptOf, rpc, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { toolsetOf } from '../toolsets/toolsets-support.ts';

const { control, host } = useHost('all');
const shop = connectionOf({});
let version = 0;

const SALES = toolsetOf('sales', { tags: ['sales'] }, { instructions: 'Orders only.' });
const tools = [
  toolOf(shop, 'find_orders', 'select 1 as n', { tags: ['sales'] }),
  toolOf(shop, 'delete_orders', 'delete from orders', { mode: 'write' }),
];
const serve = (server: object, more: object = {}) =>
  control.deploy(snapshotOf(++version, { connections: [shop], tools, prompts: [promptOf('greet', 'Hello')], server, ...more }));

async function connected(path = ''): Promise<{ client: Client; skills: SkillsClient }> {
  const client = new Client({ name: 'skills', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${host.mcp.href}${path}`)));
  return { client, skills: new SkillsClient(client) };
}

describe('a skill', () => {
  test('is read by the official client, which checks its size, digest and frontmatter', async () => {
    await serve({ skill: 'Look at orders first.\n\nNever guess a number.' });
    const { client, skills } = await connected();
    expect(skills.supported).toBe(true);
    const { skills: entries } = await skills.list();
    expect(entries.map(({ uri }) => uri)).toEqual(['skill://shop/SKILL.md']);
    const [entry] = entries;
    if (entry === undefined) throw new Error('no entry');
    expect((await skills.get(entry.uri)).skill).toEqual(entry);
    const { body, verified, mimeType } = await skills.read(entry);
    expect([verified, mimeType]).toEqual([true, 'text/markdown']);
    expect(body).toContain('Look at orders first.\n\nNever guess a number.');
    expect(body).toContain('- `find_orders`');
    expect(body).toMatch(/`delete_orders`.* Changes data\./);
    expect(body).toContain('- `greet`');
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([{ uri: entry.uri, name: 'shop', mimeType: 'text/markdown' }]);
    await client.close();
  });

  test('names only what its reader sees: a toolset of its own has its own, without the text for everybody', async () => {
    await serve({ skill: 'Salaries are in another tool.' }, { toolsets: [SALES] });
    const { client, skills } = await connected('/sales');
    const [entry] = (await skills.list()).skills;
    if (entry === undefined) throw new Error('no entry');
    const { body } = await skills.read(entry);
    expect(entry.uri).toBe('skill://shop-sales/SKILL.md');
    expect(body).toContain('Orders only.');
    expect(body).toContain('find_orders');
    for (const hidden of ['delete_orders', 'greet', 'Salaries']) expect(body).not.toContain(hidden);
    await client.close();
  });

  test('that is not there answers an unknown address with -32602, in both eras', async () => {
    await serve({ skill: 'Look.' });
    const uri = 'skill://other/SKILL.md';
    expect((await modern(host.mcp, 'skills/get', { uri })).body).toMatchObject({ error: { code: -32_602 } });
    expect((await rpc(host.mcp, { id: 1, method: 'skills/get', params: { uri } })).body).toMatchObject({
      error: { code: -32_602 },
    });
    expect((await rpc(host.mcp, { id: 1, method: 'skills/list' })).body.result).toMatchObject({
      skills: [{ uri: 'skill://shop/SKILL.md' }],
    });
  });

  test('nobody wrote is not offered: no extension, no method, no resource', async () => {
    await serve({});
    expect(JSON.stringify((await modern(host.mcp, 'server/discover')).body)).not.toContain('skills');
    for (const method of ['skills/list', 'skills/get']) {
      expect((await modern(host.mcp, method, { uri: 'skill://shop/SKILL.md' })).body).toMatchObject({ error: { code: -32_601 } });
    }
    expect((await modern(host.mcp, 'resources/list')).body.result).toMatchObject({ resources: [] });
    const read = await modern(host.mcp, 'resources/read', { uri: 'skill://shop/SKILL.md' });
    expect(read.body).toMatchObject({ error: { code: -32_602 } });
  });

  test('stays short with thousands of tools', async () => {
    const many = Array.from({ length: 3_000 }, (_, n) => toolOf(shop, `find_${n}`, 'select 1 as n'));
    await serve({ skill: 'Look.' }, { tools: many });
    const { client, skills } = await connected();
    const [entry] = (await skills.list()).skills;
    if (entry === undefined) throw new Error('no entry');
    const { body = '' } = await skills.read(entry);
    expect(body).toContain('- and 2700 more, which the list of tools has.');
    expect(body.length).toBeLessThan(110_000);
    await client.close();
  });
});

test.each([
  ['Corner shop', 'corner-shop'],
  ['Größe & Maß', 'gro-e-ma'],
  ['--', 'data'],
  ['注文', 'data'],
  ['x'.repeat(100), 'x'.repeat(64)],
  [`${'x'.repeat(63)} y`, 'x'.repeat(63)],
])('the name of %p is %p', (title, name) => {
  expect(skillName(title)).toBe(name);
});
