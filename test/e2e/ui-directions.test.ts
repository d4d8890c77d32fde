import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserTest } from '#test/support/browser.ts';
import type { Product } from '#test/support/programs.ts';
import { close, LIMIT_MS, quietOf, startUi, toast } from '#test/support/ui.ts';

const HEBREW = 'חנות';
const ARABIC = 'مكتب المبيعات';
const NAMES = [HEBREW, ARABIC];

const ids = { connection: '', tool: '' };
/** The guard refuses the last one in what models read; names of people and tokens are not looked at. */
const ui = startUi({ prepare, env: { SVC_PROMPT_GUARD_ENABLED: 'false' } });

async function prepare({ api, directory }: Product): Promise<void> {
  new Database(join(directory, 'databases', 'names.sqlite')).run('create table things (id integer primary key, name text)');
  const settings = { db_type: 'sqlite', database: 'names.sqlite' };
  ids.connection = (await api<{ id: string }>('POST', '/connections', { name: HEBREW, ...settings })).id;
  await api('POST', '/connections', { name: ARABIC, ...settings });
  const draft = { sql_query: 'select id, name from things', title: ARABIC, description: `${HEBREW} 24 ${ARABIC} 7` };
  const tool = { name: 'list_things', connection_id: ids.connection, tags: NAMES, ...draft };
  ids.tool = (await api<{ id: string }>('POST', '/tools', tool)).id;
  await api('POST', '/tests', { owner: { kind: 'tool', id: ids.tool }, name: ARABIC, expect: { rows: { min: 0 } } });
  for (const name of NAMES) {
    await api('POST', '/mcp-tokens', { name, all_toolsets: true });
    await api('POST', '/people', { username: name, display_name: ARABIC, groups: NAMES });
    await api('POST', '/notices', { name, url: 'https://hooks.example.com/x', events: ['deploy'] });
  }
  await api('POST', '/deploy', { note: `${ARABIC} 3` });
}

/** Texts beside a name whose Latin letters and digits do not stand in the order in which they are written. */
const moved = (page: Page): Promise<string[]> =>
  page.evaluate((names) => {
    const lines = new Map<Element, Text[]>();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode as Text;
      let block = node.parentElement;
      while (block !== null && getComputedStyle(block).display === 'inline') block = block.parentElement;
      if (block !== null) lines.set(block, [...(lines.get(block) ?? []), node]);
    }
    const inOrder = (nodes: readonly Text[], text: string): boolean => {
      const foreign = names.flatMap((name) =>
        [...text.matchAll(new RegExp(name, 'g'))].map(({ index }) => [index, index + name.length]),
      );
      let at = -1;
      let last = { left: 0, top: -100 };
      return nodes.every((node) =>
        node.data.split('').every((letter, n) => {
          at += 1;
          if (!/[a-z0-9]/i.test(letter) || foreign.some(([from = 0, to = 0]) => at >= from && at < to)) return true;
          const range = document.createRange();
          range.setStart(node, n);
          range.setEnd(node, n + 1);
          const { left, top, width } = range.getBoundingClientRect();
          const follows = width === 0 || Math.abs(top - last.top) > 6 || left >= last.left;
          last = { left, top };
          return follows;
        }),
      );
    };
    return [...lines.values()].flatMap((nodes) => {
      const text = nodes.map(({ data }) => data).join('');
      return !names.some((name) => text.includes(name)) || inOrder(nodes, text) ? [] : [text];
    });
  }, NAMES);

browserTest(
  'names from right to left, and names that turn the direction, leave the text around them where it is',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    const quiet = quietOf(page);
    const found: Record<string, string[]> = {};
    const read = async (name: string) => {
      const texts = await moved(page);
      if (texts.length > 0) found[name] = texts;
    };
    const places = [
      '/',
      '/connections',
      `/connections/${ids.connection}`,
      '/tools',
      `/tools/${ids.tool}`,
      '/tests',
      '/access',
      '/people',
    ];
    const more = ['/history', '/deploy?view=versions', '/flow', '/settings/webhooks', '/playground'];
    for (const path of [...places, ...more]) {
      await page.goto(`${ui.programs.url}${path}`);
      await page.locator('h1').waitFor();
      await quiet();
      await read(path);
    }

    await page.goto(`${ui.programs.url}/access`);
    await page.getByRole('button', { name: `Revoke ${ARABIC}` }).click();
    const question = page.getByRole('alertdialog');
    await question.getByRole('heading', { name: `Revoke the token “${ARABIC}”?` }).waitFor();
    await read('question');
    await question.getByRole('button', { name: 'Revoke' }).click();
    await toast(page, `Revoked “${ARABIC}”.`).waitFor();
    await read('toast');

    await page.goto(`${ui.programs.url}/connections/${ids.connection}?tab=settings`);
    const name = page.getByLabel('Name', { exact: true });
    expect(await name.inputValue()).toBe(HEBREW);
    expect(await name.evaluate((input) => getComputedStyle(input).unicodeBidi)).toBe('plaintext');
    expect(found).toEqual({});
    await close(opened);
  },
  LIMIT_MS,
);
