import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { postgresPolicies } from '#core/lib/sql/caller-policies.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { NAV } from '#ui/src/components/shell/app-tables.ts';
import { block, blocks, guide, newReader, ROOT } from './guide.ts';

/** One reader follows one guide after the other on one installation. */
let programs: Programs;
const reader = newReader();
beforeAll(async () => {
  programs = await startPrograms();
  await programs.demo();
  Object.assign(reader.env, { SVC_DATA_DIR: programs.directory });
  Object.assign(reader.places, {
    'http://127.0.0.1:3000': programs.url,
    'https://sluice.example.com': programs.url,
    'http://127.0.0.1:8080/mcp': programs.mcp_url,
    'https://mcp.example.com': new URL(programs.mcp_url).origin,
  });
}, 60_000);
afterAll(async () => {
  await programs?.stop();
  if (programs) removeFolder(programs);
  reader.remove();
});

/** The columns of the tool of the guides, as a client sees them. */
async function columns(): Promise<string[]> {
  const client = await connectClient('v2', programs.mcp_url);
  const { structuredContent } = await client.call('products_from', { least: 10 });
  await client.close();
  return Object.keys((structuredContent as { rows: object[] }).rows[0] ?? {});
}

describe('a reader of the guides', () => {
  test('creates, deploys and calls the first tool', async () => {
    const out = await reader.follow(blocks('first-tool.md').slice(1).join('\n'));
    expect(out).toContain('"structuredContent"');
    expect(out).not.toContain('"isError":true');
    expect(await columns()).toEqual(['name', 'price']);
  });

  test('tests a tool, and deploys past the gates', async () => {
    const out = await reader.follow(blocks('deploys.md').join('\n'));
    expect(out).toContain('"passed":1,"failed":0');
    // The dry run and the deploy, each in its warnings and in its findings.
    expect(out.match(/price is no longer in the result of this tool/g)).toHaveLength(4);
    expect(await columns()).toEqual(['name']);
  });

  test('tries a change on a candidate and a canary, and replays calls', async () => {
    const out = await reader.follow(blocks('candidates.md').join('\n'));
    expect(out).toContain('Lists up to five products from a price on');
    expect(out).toContain('"percent":10');
    expect(out).toContain('"difference":"The column price is new."');
  });

  test('pulls the configuration, edits, plans and pushes it, and locks what is served', async () => {
    const token = await reader.follow(
      `call POST /agent-tokens '{"name":"files","duration_minutes":15,"scopes":["read","write","deploy"]}' | field token`,
    );
    const editor = join(reader.folder, 'bin/editor');
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/^select /select id, /" "$1"\n', { mode: 0o755 });
    const [commands = '', verify = ''] = blocks('files.md');
    const edited = commands
      .replace('svc_…', token.trim())
      .replaceAll('search_products.sql', 'products_from.sql')
      .replace('sluice plan shop', 'sluice plan shop || [ $? -eq 2 ]');
    const [locking = '', verifying = ''] = verify.split('\n');
    await reader.follow(locking);
    expect(await reader.follow(edited, { EDITOR: editor })).toContain('products_from');
    expect(await columns()).toEqual(['id', 'name']);
    expect(await reader.run(verifying)).toMatchObject({ code: 2, out: expect.stringContaining('tools/products_from') });
  });

  test('lets CI plan a pull request and deploy a merge', async () => {
    await reader.follow('rm -r shop');
    await reader.follow(blocks('ci.md').join('\n'));
    const workflow = parse(block('ci.md', 'jobs:', 'yaml')) as {
      env: Record<string, string>;
      jobs: { sluice: { steps: { name?: string; run?: string }[] } };
    };
    const made = JSON.parse(readFileSync(join(reader.folder, 'client.json'), 'utf8')) as Record<string, string>;
    const given: Record<string, string | undefined> = {
      '${{ vars.SLUICE_CLIENT_ID }}': made['client_id'],
      '${{ secrets.SLUICE_CLIENT_SECRET }}': made['client_secret'],
      'https://sluice.example.com': programs.url,
    };
    const env = Object.fromEntries(Object.entries(workflow.env).map(([name, value]) => [name, given[value] ?? value]));
    Object.assign(env, { GITHUB_SHA: 'merge-1234' });
    symlinkSync(ROOT, join(reader.folder, '.tool'));
    await reader.follow('sed -i "s/^select id, /select /" shop/tools/products_from.sql');
    const said: Record<string, string> = {};
    for (const { name = 'Install', run } of workflow.jobs.sluice.steps)
      // What it installs is here already.
      if (run !== undefined) said[name] = await reader.follow(run.replace('bun install', 'bun install --dry-run'), env);
    expect(Object.keys(said)).toEqual(['Install', 'Plan', 'Deploy']);
    expect(said['Plan']).toContain('products_from');
    expect(await columns()).toEqual(['name']);
    const { items } = await reader.ask<{ items: object[] }>('GET /snapshots');
    expect(items[0]).toMatchObject({ note: 'merge-1234', active: true });
    // The commit is reverted: a fresh checkout deploys what stood there before.
    await reader.follow('sed -i "s/^select /select id, /" shop/tools/products_from.sql && rm shop/.sluice/state.json');
    const deploy = workflow.jobs.sluice.steps.find(({ name }) => name === 'Deploy')?.run ?? '';
    await reader.follow(deploy, { ...env, GITHUB_SHA: 'revert-1234' });
    expect(await columns()).toEqual(['id', 'name']);
  }, 60_000);

  test('reads, verifies and exports the audit log', async () => {
    const [asked = '', verified = ''] = blocks('audit.md');
    expect(JSON.parse(await reader.follow(asked))).toEqual({ items: [], next: null });
    expect(await reader.follow(verified)).toContain('The audit log is as it was written.');
    const events = readFileSync(join(reader.folder, 'audit.ocsf.jsonl'), 'utf8').trimEnd().split('\n');
    expect(events.map((line) => (JSON.parse(line) as { class_uid: number }).class_uid)).toEqual(events.map(() => 6003));
  });

  test('invites a person, limits a token to a toolset, and lets an agent in', async () => {
    const out = await reader.follow(blocks('access.md').join('\n'));
    expect(out).toContain('"invite_url"');
    expect(out).toContain('"name":"search_products"');
    expect(out).toContain('"name":"list_tools"');
    expect((await fetch(programs.mcp_url, { method: 'POST' })).status).toBe(401);
  });

  test('offers the whole result of a tool as a file', async () => {
    const out = await reader.follow(blocks('downloads.md').join('\n'));
    expect(out).toContain('"files":"csv"');
    expect(out).toContain('"files":true');
    const token = (
      await reader.follow(`call POST /mcp-tokens '{"name": "reader", "toolsets": ["exports"]}' | field token`)
    ).trim();
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'products_from', arguments: { least: 10 } } };
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const answer = await fetch(programs.mcp_url, { method: 'POST', headers, body: JSON.stringify(body) });
    const { result } = (await answer.json()) as { result: { structuredContent: { file: { url: string } } } };
    const file = await fetch(result.structuredContent.file.url);
    expect([file.status, (await file.text()).split('\r\n')[0]]).toEqual([200, 'id,name']);
  });

  test.skipIf(!reachable.postgres)('keeps the rows of callers apart in PostgreSQL', async () => {
    const database = await testDatabase('postgresql');
    const account = `guide_${crypto.randomUUID().slice(0, 8)}`;
    const { host, port, database: name } = database.settings;
    const named = (text: string) => text.replaceAll(/(role |")sluice\b/g, `$1${account}`);
    try {
      const [table = '', policies = ''] = blocks('row-level-security.md', 'sql').map(named);
      const wishes = { schema: 'public', table: 'orders', column: 'tenant', value: 'app.tenant', is_list: false, account };
      expect(postgresPolicies(wishes)).toContain(policies);
      await database.run(table);
      const [connect = '', ...rest] = blocks('row-level-security.md').map(named);
      const here = connect
        .replace(
          '"host": "127.0.0.1", "port": 5432, "database": "shop"',
          `"host": "${host}", "port": ${port}, "database": "${name}"`,
        )
        .replace('a long password', crypto.randomUUID());
      await reader.follow(here);
      await database.run(policies);
      const out = await reader.follow(rest.join('\n'));
      expect(out).toContain('"success":true');
      // The preview is of acme, the call of globex.
      expect(out).toContain('"row_count":2');
      expect(out).toMatch(/"rows":\[\{"id":3,"total":"?99/);
    } finally {
      await database.run(`drop owned by ${account}`).catch(() => []);
      await database.drop();
      const server = await testDatabase('postgresql');
      await server.run(`drop role if exists ${account}`);
      await server.drop();
    }
  });

  test('makes a backup while the server runs, and restores it', async () => {
    const [backup = '', restore = ''] = blocks('backup.md');
    await reader.follow(backup);
    await reader.follow(`call PATCH /server/config '{"server_name": "After the backup"}'`);
    await programs.stop();
    expect(await reader.follow(restore)).toMatch(/ok\s+metadata database/);
    programs = await startPrograms({ again: programs });
    expect(await reader.ask('GET /server/config')).not.toMatchObject({ server_name: 'After the backup' });
    expect(await reader.ask("GET '/tools?search=products_from'")).toMatchObject({ total: 1 });
  }, 60_000);
});

test('every guide with commands is followed by a test', () => {
  const tests = ['test/docs/guides', 'test/docs/installations', 'test/server/cli-bundle', 'test/e2e/rest'];
  const texts = tests.map((path) => readFileSync(join(ROOT, `${path}.test.ts`), 'utf8')).join('');
  const followed = readdirSync(join(ROOT, 'docs')).filter((name) => blocks(name).length > 0);
  expect(followed.length).toBeGreaterThan(10);
  expect(followed.filter((name) => !texts.includes(name))).toEqual([]);
});

test('the guide to the interface names every page of the navigation', () => {
  const titles = NAV.flatMap(({ label, pages }) => [label, ...pages.map((page) => page.label)]);
  expect(titles.length).toBeGreaterThan(30);
  expect(titles.filter((title) => !guide('interface.md').includes(`**${title}**`))).toEqual([]);
});

/** A table with a line for each variable and each field is as long as it has to be. */
const TABLES = ['settings.md'];

test('every guide is short, is linked from the README, and links to what is there', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  for (const name of readdirSync(join(ROOT, 'docs'))) {
    const short = TABLES.includes(name) || guide(name).split('\n').length <= 121;
    expect({ name, short }).toEqual({ name, short: true });
    expect(readme).toContain(`](docs/${name})`);
    const links = [...guide(name).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map(([, path = '']) => path);
    expect({ name, missing: links.filter((path) => !existsSync(join(ROOT, 'docs', path))) }).toEqual({ name, missing: [] });
  }
});
