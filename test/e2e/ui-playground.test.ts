import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { expectAccessible } from '#test/support/axe.ts';
import { browserTest, look } from '#test/support/browser.ts';
import { until, untilWithin } from '#test/support/until.ts';
import { close, inEveryLook, inspect, LIMIT_MS, quietOf, startUi } from '#test/support/ui.ts';

const ui = startUi({ live: true });

const choose = (page: Page, name: string) =>
  page
    .getByRole('navigation', { name: 'What to call' })
    .getByRole('button', { name: new RegExp(`^${name} `) })
    .click();
const result = (page: Page) => page.getByRole('region', { name: 'Result', exact: true });

browserTest(
  'tools, resources and prompts are called in both eras and looked at from every side',
  async () => {
    const opened = await ui.signedIn(1280, 'light');
    const { page } = opened;
    const quiet = quietOf(page);
    await page.goto(`${ui.programs.url}/playground?tool=list_orders`);
    await page.getByRole('heading', { name: 'List orders' }).waitFor();
    await quiet();
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('This argument is required.').first().waitFor();
    await expectAccessible(page, 'a form with faults');
    await page.getByLabel('from', { exact: true }).fill('2026-01-01');
    await page.getByLabel('to', { exact: true }).fill('2026-06-01');
    await page.getByRole('button', { name: /status/ }).click();
    await page.getByRole('option', { name: 'shipped' }).click();
    await page.getByRole('listbox').waitFor({ state: 'detached' });
    await page.getByLabel('to', { exact: true }).press('Control+Enter');
    await result(page)
      .getByText(/^\d+ rows$/)
      .waitFor();
    const customer = result(page).getByRole('columnheader', { name: 'customer' });
    await customer.getByRole('button').click();
    expect(await customer.getAttribute('aria-sort')).toBe('ascending');
    const first = async () => (await result(page).getByRole('row').nth(1).textContent()) ?? '';
    const lowest = await first();
    await customer.getByRole('button').click();
    expect(await customer.getAttribute('aria-sort')).toBe('descending');
    expect(await first()).not.toBe(lowest);
    await result(page)
      .getByText(/about [\d,]+ tokens/)
      .waitFor();
    await result(page).getByText('JSON', { exact: true }).click();
    await result(page).getByText('"row_count"').waitFor();
    await result(page).getByText('As the model sees it', { exact: true }).click();
    await result(page).getByText('"truncated":false').waitFor();
    await result(page)
      .getByText(/^Messages/)
      .click();
    await result(page)
      .getByText(/mcp-method: tools\/call/)
      .waitFor();
    await result(page)
      .getByText(/^HTTP 200/)
      .waitFor();
    await look(page, 'playground-messages-1280-light');

    await page.getByText('2025-11-25', { exact: true }).click();
    await choose(page, 'sales_by_category');
    await page.getByText('It takes no arguments.').waitFor();
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await result(page).getByText('5 rows').waitFor();
    await result(page)
      .getByText(/^Messages/)
      .click();
    await result(page)
      .getByText(/mcp-session-id: /)
      .last()
      .waitFor();

    await choose(page, 'order');
    await page.getByLabel('id', { exact: true }).fill('3');
    await page.getByRole('button', { name: 'Read', exact: true }).click();
    await result(page).getByText('# Order 3 of').waitFor();

    await choose(page, 'sales_report');
    await page.getByLabel('from', { exact: true }).fill('2026-01-01');
    await page.getByLabel('to', { exact: true }).fill('2026-02-01');
    await page.getByRole('combobox', { name: /audience/ }).fill('the m');
    await page.getByRole('option', { name: 'the management' }).click();
    await page.getByRole('button', { name: 'Get', exact: true }).click();
    await result(page).getByText('for the management').waitFor();

    await choose(page, 'get_customer');
    await page.getByText('JSON', { exact: true }).first().click();
    await page.getByLabel('Arguments as JSON').fill('{"email": 5}');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await result(page).getByText('The tool answered with an error').waitFor();
    await page.getByLabel('Arguments as JSON').fill('[');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('Enter the arguments as a JSON object').waitFor();

    const history = page.getByRole('region', { name: 'Recent calls' });
    await until(async () => (await history.getByRole('listitem').count()) === 5);
    await history.getByRole('button', { name: /^Result list_orders/ }).click();
    await page.getByRole('heading', { name: 'List orders' }).waitFor();
    expect(await page.getByLabel('to', { exact: true }).inputValue()).toBe('2026-06-01');
    await history.getByRole('button', { name: 'Clear recent calls' }).click();
    await history.getByText('No calls yet.').waitFor();
    await page.goto(`${ui.programs.url}/playground?tool=not_there`);
    await page.getByText('not_there is not deployed').waitFor();
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'the result is below the arguments at full width, stays over a reload, and a call can be saved',
  async () => {
    const opened = await ui.signedIn(1440, 'light');
    const { page } = opened;
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${ui.programs.url}/playground?tool=list_orders`);
    await page.getByLabel('from', { exact: true }).fill('2026-01-01');
    await page.getByLabel('to', { exact: true }).fill('2026-06-01');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    const found = result(page).getByText(/^\d+ rows$/);
    await found.waitFor();
    const [call, rows] = await Promise.all([
      page.getByRole('button', { name: 'Call', exact: true }).boundingBox(),
      result(page).getByRole('columnheader').first().boundingBox(),
    ]);
    expect((rows?.y ?? 0) > (call?.y ?? 900) + (call?.height ?? 0)).toBe(true);
    // Both are in sight.
    expect((rows?.y ?? 900) < 900 && (call?.y ?? 900) < 900).toBe(true);
    const shown = await found.textContent();

    await page.reload();
    await result(page).getByText(String(shown), { exact: true }).waitFor();
    expect(await page.getByLabel('to', { exact: true }).inputValue()).toBe('2026-06-01');
    await page.getByRole('button', { name: 'Save this call of list_orders' }).click();
    await page.getByRole('button', { name: 'Clear recent calls' }).click();
    await page.reload();
    const saved = page.getByRole('region', { name: 'Saved calls' });
    await saved.getByRole('button', { name: /^list_orders/ }).click();
    expect(await page.getByLabel('from', { exact: true }).inputValue()).toBe('2026-01-01');
    // A saved call fills the form once: whoever comes back finds what was called last.
    await page.getByLabel('from', { exact: true }).fill('2026-02-01');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await found.waitFor();
    const offers = page.getByRole('navigation', { name: 'What to call' });
    await offers.getByText('search_products').click();
    await page.getByLabel('max_price').waitFor();
    await offers.getByText('list_orders').click();
    expect(await page.getByLabel('from', { exact: true }).inputValue()).toBe('2026-02-01');
    await saved.getByRole('button', { name: /Remove the saved call/ }).click();
    await saved.waitFor({ state: 'detached' });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'the page fits a phone and a desk, light and dark, without a fault',
  async () => {
    await inEveryLook(ui.signedIn, async (page, { check }) => {
      await page.goto(`${ui.programs.url}/playground?tool=search_products`);
      await page.getByRole('button', { name: 'Call', exact: true }).click();
      await result(page).getByText('12 rows').waitFor();
      for (const [tab, name] of [
        ['As the model sees it', 'playground-model'],
        ['JSON', 'playground-json'],
        [/^Messages/, 'playground-messages'],
        ['Table', 'playground'],
      ] as const) {
        await result(page).getByText(tab, { exact: true }).click();
        await check(name);
      }
    });
  },
  LIMIT_MS,
);

browserTest(
  'what another caller sees and gets is shown as a person, a token or typed values',
  async () => {
    const { programs } = ui;
    const tools = await programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools?limit=100');
    const idOf = (name: string) => tools.items.find((tool) => tool.name === name)?.id ?? '';
    const made = [
      await programs.api<{ id: string }>('POST', '/toolsets', {
        name: 'open',
        include: { tool_ids: [idOf('sales_by_category')] },
      }),
      await programs.api<{ id: string }>('POST', '/toolsets', {
        name: 'support',
        include: { tool_ids: [idOf('get_customer')] },
        groups: ['support'],
      }),
    ];
    const grace = await programs.api<{ id: string }>('POST', '/people', {
      username: 'grace',
      display_name: 'Grace Hopper',
      groups: ['support'],
    });
    const token = await programs.api<{ id: string }>('POST', '/mcp-tokens', { name: 'desk', toolsets: ['support'] });
    await programs.api('POST', '/deploy', {});
    const opened = await ui.signedIn(1440, 'light');
    const { page } = opened;
    await page.goto(`${programs.url}/playground`);
    const list = page.getByRole('navigation', { name: 'What to call' });
    const offers = async () =>
      (await list.getByRole('button').allInnerTexts()).map((text) => text.split('\n')[0] ?? '').filter((text) => text !== '');
    const sees = (...names: string[]) =>
      until(
        async () => JSON.stringify((await offers()).sort()) === JSON.stringify(names.sort()),
        () => 'other offers',
      );
    const callAs = async (option: string | RegExp) => {
      await page.getByRole('button', { name: /^Caller/ }).click();
      await page.getByRole('option', { name: option }).click();
      await page.getByRole('listbox').waitFor({ state: 'detached' });
    };
    await list.getByRole('button', { name: /^get_customer/ }).waitFor();
    const everything = await offers();
    await page.getByRole('button', { name: 'View as…' }).click();
    await callAs('A person');
    await page.getByRole('combobox', { name: 'Person' }).fill('grace');
    await page.getByRole('option', { name: /Grace Hopper \(grace\)/ }).click();
    await page.getByText('Toolsets: open, support. Groups: support. 2 definitions').waitFor();
    await sees('get_customer', 'sales_by_category');
    await inspect(page, 'show-as-1440-light', { width: 1440, scheme: 'light' });
    await callAs(/^Token desk/);
    await sees('get_customer');
    await callAs('Custom values');
    await sees('sales_by_category');
    await page.getByLabel('Claims').fill('{');
    await page.getByText('This isn’t a JSON object.').waitFor();
    await page.getByLabel('Claims').fill('');
    await page.getByLabel(/^Groups/).fill('support,');
    await sees('get_customer', 'sales_by_category');
    await page.getByText('A token', { exact: true }).click();
    await page.getByText('Some toolsets', { exact: true }).click();
    await page.getByText('This caller sees nothing').waitFor();
    await page.getByRole('button', { name: 'Call as yourself' }).click();
    await sees(...everything);

    // Options that arrive while the list is open leave it open; the same choice again closes it.
    const tokens = '**/api/v1/mcp-tokens?*';
    await page.route(tokens, async (route) => {
      await page.getByRole('option', { name: 'Custom values' }).waitFor();
      await route.continue();
    });
    await page.goto(`${programs.url}/toolsets`);
    await page.getByRole('button', { name: 'View as…' }).click();
    await callAs(/^Token desk/);
    await page.unroute(tokens);
    await callAs(/^Token desk/);
    const members = page.getByRole('region', { name: 'Members' });
    await members.getByRole('link', { name: 'get_customer' }).waitFor();
    expect(await members.getByRole('listitem').count()).toBe(1);
    await inspect(page, 'toolsets-show-as-1440-light', { width: 1440, scheme: 'light' });

    await page.goto(`${programs.url}/tools/${idOf('get_customer')}`);
    await page.getByRole('button', { name: /^Run as/ }).click();
    await page.getByRole('option', { name: 'A person' }).click();
    await page.getByRole('combobox', { name: 'Person' }).fill('ada');
    await page.getByRole('option', { name: /ada/ }).click();
    await page.getByText('This caller doesn’t see this tool').waitFor();
    await page.getByRole('listbox').waitFor({ state: 'detached' });
    await page.getByRole('combobox', { name: 'Person' }).fill('grace');
    await page.getByRole('option', { name: /grace/ }).click();
    await page.getByText('This caller doesn’t see this tool').waitFor({ state: 'detached' });
    await expectAccessible(page, 'the preview as a person');
    // What is not stored yet is in no toolset, and nobody misses it.
    await page.goto(`${programs.url}/tools/new`);
    await page.getByRole('button', { name: /^Run as/ }).click();
    await page.getByRole('option', { name: 'Custom values' }).click();
    await page.getByText(/^Toolsets: open\./).waitFor();
    expect(await page.getByText('This caller doesn’t see').count()).toBe(0);
    await close(opened);
    for (const { id } of made) await programs.api('DELETE', `/toolsets/${id}`);
    await programs.api('DELETE', `/mcp-tokens/${token.id}`);
    await programs.api('DELETE', `/people/${grace.id}`);
    await programs.api('POST', '/deploy', {});
  },
  LIMIT_MS,
);

browserTest(
  'a server with access tokens lets its administrator in, and tries a token that no message shows',
  async () => {
    const opened = await ui.signedIn(1280, 'dark');
    const { page } = opened;
    await ui.programs.api('PATCH', '/server/config', { auth_type: 'bearer' });
    const { token } = await ui.programs.api<{ token: string }>('POST', '/mcp-tokens', { name: 'playground', all_toolsets: true });
    await ui.programs.api('POST', '/deploy', {});
    await until(async () => (await fetch(ui.programs.mcp_url, { method: 'POST' })).status === 401);
    await page.goto(`${ui.programs.url}/playground?tool=sales_by_category`);
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await result(page).getByText('5 rows').waitFor();
    expect(await page.content()).not.toContain('svc_playground_');
    const callers = async () =>
      (await ui.programs.api<{ items: { token_prefix: string | null }[] }>('GET', '/logs?limit=20')).items.map(
        ({ token_prefix }) => token_prefix,
      );
    await until(async () => (await callers()).includes('playground:ada'));

    await page.getByRole('button', { name: 'Use an access token' }).click();
    await page.getByRole('heading', { name: 'Call with an access token' }).waitFor();
    await expectAccessible(page, 'the access token');
    await page.getByLabel('Access token', { exact: true }).fill('svc_mcp_wrong');
    await page.getByRole('button', { name: 'Use token' }).click();
    await page.getByText('Access token not accepted').waitFor();
    await page.getByLabel('Access token', { exact: true }).fill(token);
    await page.getByRole('button', { name: 'Use token' }).click();
    await page.getByText('Calls use this access token.').waitFor();
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await result(page).getByText('5 rows').waitFor();
    // The result of the call before stands until this one is there, with its messages folded.
    const sent = result(page).getByText(/authorization: Bearer …/);
    await untilWithin(60_000, async () => {
      if (await sent.isVisible()) return true;
      await result(page)
        .getByText(/^Messages/)
        .click();
      return false;
    });
    expect(await page.content()).not.toContain(token);
    await page.getByRole('button', { name: 'Call as yourself' }).click();
    await page.getByRole('heading', { name: 'Call with an access token' }).waitFor({ state: 'detached' });
    // The refusals of the host are what the browser reports; nothing else is.
    await close(opened, [401]);
  },
  LIMIT_MS,
);
