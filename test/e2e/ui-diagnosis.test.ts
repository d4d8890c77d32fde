import { expect } from 'bun:test';
import type { Locator } from 'playwright-core';
import { operations } from '#core/contract/index.ts';
import type { Insight } from '#core/contract/observe/insights.ts';
import type { Operation } from '#core/contract/operation.ts';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, openPage } from '#test/support/browser.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { filesBelow } from '#test/support/files.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { joinAs } from '#test/support/person-browser.ts';
import { until } from '#test/support/until.ts';
import { HIDDEN, seedSituations, SITUATIONS } from '#test/support/situations.ts';
import { close, inspectAll, LIMIT_MS, startUi, toast } from '#test/support/ui.ts';

let database: TestDatabase | undefined;
const needed = reachable.postgres;
const ui = startUi({ needed, env: { SVC_DEMO: 'false' }, cleanup: async () => database?.drop() });
const situations = needed ? browserTest : browserTest.skip;
let seeded: Promise<void> | undefined;
const seed = (): Promise<void> =>
  (seeded ??= (async () => {
    database = await testDatabase('postgresql');
    await seedSituations(ui.programs, database);
  })());

const CASES = Object.entries(SITUATIONS);
/** Every diagnosis is at most so far from Home. */
const MOST_CLICKS = 3;

situations(
  'an agent diagnoses each of ten situations by its tools alone, and reads the calls behind them',
  async () => {
    await seed();
    const { token } = await ui.programs.api('POST', '/agent-tokens', { name: 'Reader', duration_minutes: 15, scopes: ['read'] });
    await until(async () => (await fetch(`${ui.programs.url}/agent-mcp/health`)).ok);
    const agent = await connectClient('v2', `${ui.programs.url}/agent-mcp/mcp`, { authorization: `Bearer ${String(token)}` });
    const ask = async <T>(tool: string, args: Record<string, unknown> = {}): Promise<T> => {
      const { isError, content, structuredContent } = await agent.call(tool, args);
      expect([tool, isError, isError === true ? content[0]?.text : '']).toEqual([tool, undefined, '']);
      return structuredContent as T;
    };
    const { items } = await ask<{ items: Insight[] }>('get_insights', { period: '24h', limit: 200 });
    expect(JSON.stringify(items)).not.toContain(HIDDEN);
    for (const [situation, { rule, entity, ...told }] of CASES) {
      const found = items.find((insight) => insight.rule === rule && insight.entity.name === entity);
      const says = 'says_to_token' in told ? told.says_to_token : told.says;
      expect([situation, found?.message]).toEqual([situation, expect.stringContaining(says)]);
      expect([situation, (found?.advice.length ?? 0) > 20]).toEqual([situation, true]);
      const [call_id] = found?.calls ?? [];
      if (call_id === undefined) {
        expect([situation, ['unused-tool', 'revoked-token'].includes(rule)]).toEqual([situation, true]);
        continue;
      }
      const call = await ask<{ kind: string; outcome: string }>('get_call', { call_id });
      expect([situation, call.kind]).toEqual([situation, 'tool']);
      expect(JSON.stringify(call)).not.toContain(HIDDEN);
    }
    const { items: sessions } = await ask<{ items: { errors: number }[] }>('list_sessions', { tool: 'get_order', failed: true });
    expect(sessions[0]?.errors).toBeGreaterThan(5);
    await agent.close();
  },
  LIMIT_MS,
);

situations(
  'nothing that is kept or shown of the calls holds a masked value or an argument',
  async () => {
    await seed();
    const { api, output, directory, url } = ui.programs;
    const read = async (path: string) => {
      const text = JSON.stringify(await api('GET', path));
      expect([path, text.includes(HIDDEN)]).toEqual([path, false]);
      return JSON.parse(text) as { items: { id: string }[] };
    };
    const reading = (Object.values(operations) as Operation[]).filter(
      ({ method, path }) => method === 'GET' && !path.includes('{'),
    );
    for (const { path } of reading)
      expect([path, (await api('GET', path).then(JSON.stringify, String)).includes(HIDDEN)]).toEqual([path, false]);
    const lists = ['/logs?limit=200', '/sessions/mcp?limit=100', '/insights?period=24h&limit=200', '/metrics/stats?by=client'];
    const [calls, sessions] = await Promise.all(lists.map(read));
    for (const { id } of calls?.items ?? []) await read(`/logs/${id}`);
    for (const { id } of sessions?.items ?? []) await read(`/sessions/mcp/${id}`);
    expect(calls?.items.length).toBeGreaterThan(20);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect([metrics.includes(HIDDEN), output().includes(HIDDEN)]).toEqual([false, false]);
    const holding = filesBelow(directory).filter(({ text }) => text.includes(HIDDEN));
    expect(holding.map(({ path }) => path)).toEqual([]);
  },
  LIMIT_MS,
);

situations(
  'a person diagnoses each of them from Home in at most three clicks',
  async () => {
    await seed();
    const opened = await ui.signedIn(1440, 'light');
    const { page } = opened;
    for (const [situation, { rule, entity, says }] of CASES) {
      let clicks = 0;
      const click = async (target: Locator) => {
        clicks++;
        await target.click();
      };
      await page.goto(`${ui.programs.url}/`);
      await click(page.getByRole('link', { name: 'View all insights' }));
      const finding = page.locator(`.finding[data-rule="${rule}"]`).filter({ hasText: entity }).first();
      await finding.getByText(says).first().waitFor();
      const behind = finding.getByRole('link', { name: /^Show (calls|refusals)$/ });
      if ((await behind.count()) > 0) {
        await click(behind);
        // A row of the head has no number, and one of a list that is still read has no text.
        const row = page.getByRole('table').getByRole('row').filter({ hasText: /\d/ }).first();
        await row.waitFor();
        if (rule !== 'revoked-token') {
          await click(row);
          await page.getByRole('dialog', { name: 'Call' }).waitFor();
        }
      }
      expect([situation, clicks <= MOST_CLICKS]).toEqual([situation, true]);
    }
    await page.goto(`${ui.programs.url}/insights`);
    await page.locator('.finding').first().waitFor();
    expect(await page.locator('body').innerText()).not.toContain(HIDDEN);
    await expectAccessible(page, 'the insights');
    await close(opened);

    // Refused requests are for administrators.
    const watcher = { username: 'watcher', password: 'a long password' };
    await joinAs(ui.programs, { username: watcher.username, role: 'viewer' }, watcher.password);
    const viewer = await openPage(ui.browser, { width: 1440, scheme: 'light' });
    await viewer.context.request.post(`${ui.programs.url}/api/v1/auth/login`, { data: watcher });
    await viewer.page.goto(`${ui.programs.url}/insights`);
    await viewer.page.getByRole('link', { name: 'Show calls' }).first().waitFor();
    await viewer.page.locator('.finding[data-rule="revoked-token"]').first().waitFor();
    expect(await viewer.page.getByRole('link', { name: 'Show refusals' }).count()).toBe(0);
    await close(viewer);
  },
  LIMIT_MS,
);

situations(
  'a fix is applied and undone, a finding dismissed, tools are ranked, a slow statement shows its plan',
  async () => {
    await seed();
    const { api, url } = ui.programs;
    const opened = await ui.signedIn(1440, 'light');
    const { page } = opened;
    await page.goto(`${url}/insights`);
    const wrong = page.locator('.finding[data-rule="argument-fails"]').filter({ hasText: 'orders_by_state' });
    await wrong.getByRole('button', { name: /^Add “One of: open, paid\.”/ }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Apply fix' }).click();
    await toast(page, 'orders_by_state changed').waitFor();
    const stored = async () => {
      const { items } = await api<{ items: { parameters: { description: string }[] }[] }>('GET', '/tools?search=orders_by_state');
      return items[0]?.parameters[0]?.description;
    };
    expect(await stored()).toBe('The state. One of: open, paid.');
    await page.getByRole('button', { name: 'Undo' }).first().click();
    await until(async () => (await stored()) === 'The state');

    const unused = page.locator('.finding[data-rule="unused-tool"]').filter({ hasText: 'archive_orders' });
    await unused.getByRole('button', { name: 'Dismiss' }).click();
    await unused.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByText('1 finding dismissed in this browser').waitFor();
    expect(await unused.count()).toBe(0);
    await page.getByRole('button', { name: 'Show again' }).click();
    await unused.waitFor();

    await page.getByLabel('What a person would ask').fill('Which orders does the customer with this name have?');
    await page.keyboard.press('Enter');
    await page.locator('.ranked').getByRole('link', { name: 'find_customer_orders' }).waitFor();
    await page
      .getByText('find_customer_orders and search_customer_orders overlap')
      .or(page.getByText('overlap').first())
      .first()
      .waitFor();

    await page.locator('.finding[data-rule="slow-statement"]').getByRole('link', { name: 'Show plan' }).first().click();
    await page.waitForURL(/\/tools\/[^?]+\?side=plan/);
    await page
      .getByRole('list', { name: 'Highlights' })
      .getByText(/^Full scan of orders/)
      .waitFor();
    await expectAccessible(page, 'the plan of a statement');
    await close(opened, [404]);
  },
  LIMIT_MS,
);

situations(
  'the insights fit a phone and a desk',
  async () => {
    await seed();
    await inspectAll(ui, [{ name: 'insights', path: '/insights', ready: { css: '.finding' } }]);
  },
  LIMIT_MS,
);
