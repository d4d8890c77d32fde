import { expect } from 'bun:test';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, quietOf, startUi, toast, pageTab } from '#test/support/ui.ts';

const ui = startUi({ live: true });

/** What a proxy in front answers for a server that is starting. */
const PROXY = { status: 502, contentType: 'text/html', body: '<html><h1>502 Bad Gateway</h1></html>' };
const LIMITED = { status: 429, contentType: 'text/html', headers: { 'retry-after': '1' }, body: '<h1>Slow down</h1>' };

for (const [name, answer] of [
  ['has no server behind it', PROXY],
  ['takes fewer requests', LIMITED],
] as const)
  browserTest(
    `a list that a proxy refused because it ${name} is read again by itself`,
    async () => {
      const opened = await ui.signedIn();
      const { page } = opened;
      for (const path of ['/tools', '/history', '/deploy', '/people']) {
        await page.route(/\/api\/v1\/(?!auth\/)/, (route) => route.fulfill(answer));
        await page.goto(`${ui.programs.url}${path}`);
        const alert = page.getByRole('main').getByRole('alert').first();
        await alert.getByText('trying again').waitFor();
        expect(await alert.innerText()).not.toContain('The server answered');
        await page.unroute(/\/api\/v1\/(?!auth\/)/);
        await page.getByRole('main').getByRole('alert').first().waitFor({ state: 'detached' });
      }
      await close(opened, [429, 502]);
    },
    LIMIT_MS,
  );

browserTest(
  'a dialog whose code was lost once opens all the same; while it cannot be loaded, this is said',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    const question = page.getByRole('alertdialog', { name: /^Delete/ });
    const askToDelete = async () => {
      await page
        .getByRole('button', { name: /^More for/ })
        .first()
        .click();
      await page.getByRole('menuitem', { name: 'Delete' }).click();
    };
    await page.route('**/assets/asked-dialog-*.js', (route) => route.abort(), { times: 1 });
    await page.goto(`${ui.programs.url}/tools`);
    await askToDelete();
    await question.getByRole('button', { name: 'Cancel' }).click();

    // An update has put other names in the place of those that this page knows.
    await page.route(/assets\/(asked|command)-dialog-.*\.js/, (route) => route.fulfill({ status: 404, json: {} }));
    await page.goto(`${ui.programs.url}/tools`);
    await askToDelete();
    await toast(page, 'A part of this page could not be loaded.').waitFor();
    await page.getByRole('status').getByRole('button', { name: 'Reload' }).waitFor();
    await page.unroute(/assets\/(asked|command)-dialog-.*\.js/);
    await question.getByRole('button', { name: 'Cancel' }).click();
    await toast(page, 'A part of this page could not be loaded.').waitFor({ state: 'detached' });

    // A palette that does not come takes no keys for ever.
    await page.route('**/assets/command-dialog-*.js', (route) => route.fulfill({ status: 404, json: {} }));
    await page.goto(`${ui.programs.url}/tools`);
    await page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await toast(page, 'A part of this page could not be loaded.').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('h');
    await page.waitForURL(/\/history/);
    // The browser names what it could not load.
    opened.faults.length = 0;
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a page whose code or styles were lost once opens, and one that failed opens at the next visit',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    const visit = async (entry: string, name: string) => {
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: entry }).click();
      await pageTab(page, name).click();
    };
    await page.route('**/assets/{transfer,queue}-*.js', (route) => route.abort(), { times: 1 });
    await page.route('**/assets/history-*.css', (route) => route.abort(), { times: 1 });
    await page.goto(`${ui.programs.url}/tools`);
    await page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor();
    await visit('Settings', 'Import and export');
    await page.getByRole('heading', { name: 'Import and export' }).waitFor();
    await visit('Logs', 'History');
    await page.getByRole('heading', { name: 'History', level: 1 }).waitFor();
    expect(
      await page.evaluate(
        () => [...document.querySelectorAll('link')].filter(({ rel, sheet }) => rel === 'stylesheet' && sheet === null).length,
      ),
    ).toBe(0);

    await page.route('**/assets/people-*.js', (route) => route.fulfill({ status: 404, json: {} }));
    await visit('Settings', 'People');
    await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor();
    await page.unroute('**/assets/people-*.js');
    await visit('Databases', 'Queues');
    await page.getByRole('heading', { name: 'Queues', level: 1 }).waitFor();
    await visit('Settings', 'People');
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
    opened.faults.length = 0;
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a save whose answer was lost is no conflict with oneself',
  async () => {
    const { api, url } = ui.programs;
    const { items } = await api<{ items: { id: string }[] }>('GET', '/tools?search=get_customer');
    const path = `/tools/${items[0]?.id}`;
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.goto(`${url}${path}`);
    await page.route(
      `**/api/v1${path}`,
      async (route) => {
        if (route.request().method() !== 'PATCH') return route.fallback();
        await route.fetch();
        await route.abort();
      },
      { times: 2 },
    );
    await page.getByLabel('Description', { exact: true }).fill('Saved, and nobody heard of it.');
    const save = page.getByRole('button', { name: /^Save/ }).first();
    await save.click();
    await page.getByText('The server did not answer, but it may have applied the change.').first().waitFor();
    expect(await api(`GET`, path)).toMatchObject({ description: 'Saved, and nobody heard of it.' });
    await page.unroute(`**/api/v1${path}`);
    await save.click();
    await toast(page, /saved/i).waitFor();
    expect(await page.getByRole('alertdialog').count()).toBe(0);
    opened.faults.length = 0;
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'what takes long outside of a form says so, and is not sent twice by a second press',
  async () => {
    const { api, url } = ui.programs;
    const opened = await ui.signedIn();
    const { page } = opened;
    const notice = await api<{ id: string }>('POST', '/notices', {
      name: 'Slow',
      url: 'https://hooks.example.com/slow',
      events: ['deploy'],
    });
    const held = Promise.withResolvers<void>();
    let sent = 0;
    await page.route(/api\/v1\/(notices|tools)\//, async (route) => {
      if (!['PATCH', 'POST', 'DELETE'].includes(route.request().method())) return route.fallback();
      sent += 1;
      await held.promise;
      await route.continue();
    });
    await page.goto(`${url}/settings/webhooks`);
    await page.getByRole('button', { name: 'More for Slow' }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await toast(page, 'Working…').waitFor();
    held.resolve();
    await toast(page, 'Slow disabled.').waitFor();
    expect(await toast(page, 'Working…').count()).toBe(0);
    await page.unroute(/api\/v1\/(notices|tools)\//);
    await api('DELETE', `/notices/${notice.id}`);

    // A button shows it itself.
    const again = Promise.withResolvers<void>();
    sent = 0;
    await page.route(/api\/v1\/definitions$/, async (route) => {
      if (route.request().method() !== 'PATCH') return route.fallback();
      sent += 1;
      await again.promise;
      await route.continue();
    });
    await page.goto(`${url}/connections`);
    await page
      .getByRole('checkbox', { name: /^Select demo|demo/ })
      .first()
      .click();
    const disable = page.getByRole('group', { name: 'Selected rows' }).getByRole('button', { name: 'Disable' });
    await disable.dblclick();
    await disable.and(page.locator('[aria-busy=true]')).waitFor();
    again.resolve();
    await toast(page, '1 connection disabled.').waitFor();
    expect(sent).toBe(1);
    await page.unroute(/api\/v1\/definitions$/);
    const { items } = await api<{ items: { id: string }[] }>('GET', '/connections');
    await api('PATCH', `/connections/${items[0]?.id}`, { enabled: true });
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'what answers an earlier filter is told from the answer to this one, whichever comes first',
  async () => {
    const opened = await ui.signedIn();
    const { page } = opened;
    const quiet = quietOf(page);
    for (const [path, api, shown] of [
      ['/tools', 'tools', 'get_customer'],
      ['/history', 'history', 'get_customer'],
    ] as const) {
      const late = Promise.withResolvers<void>();
      const newest = Promise.withResolvers<void>();
      await page.route(`**/api/v1/${api}?*`, async (route) => {
        const search = new URL(route.request().url()).searchParams.get('search');
        if (search === 'zzz') await late.promise;
        if (search === 'sales_by_category') await newest.promise;
        // One that nobody waits for any more is gone.
        await route.continue().catch(() => undefined);
      });
      await page.goto(`${ui.programs.url}${path}`);
      const main = page.getByRole('main');
      await main.getByText(shown).first().waitFor();
      const search = main.getByRole('searchbox').first();
      await search.fill('zzz');
      const stale = main.locator('[data-stale]');
      await stale.first().waitFor();
      await search.fill('sales_by_category');
      await page.waitForURL(/q=sales_by_category/);
      expect(await stale.first().getAttribute('aria-busy')).not.toBe('false');
      newest.resolve();
      await stale.first().waitFor({ state: 'detached' });
      await main.getByText(shown).first().waitFor({ state: 'detached' });
      late.resolve();
      await quiet();
      await main.getByText('sales_by_category').first().waitFor();
      await page.unroute(`**/api/v1/${api}?*`);
    }
    await close(opened);
  },
  LIMIT_MS,
);

browserTest(
  'a failed preview of a rollback and a failed test of a provider can be repeated in place',
  async () => {
    const { api, url } = ui.programs;
    const { items } = await api<{ items: { id: string }[] }>('GET', '/tools?search=list_orders');
    await api('PATCH', `/tools/${items[0]?.id}`, { title: 'Orders of a customer' });
    await api('POST', '/identity-providers', {
      name: 'Lost',
      issuer: 'https://127.0.0.1:9/nobody',
      client_id: 'sluice',
      client_secret: 'its secret',
    });
    const opened = await ui.signedIn();
    const { page } = opened;
    await page.route(/api\/v1\/(history\/.*rollback|identity-providers\/.*test)/, (route) => route.abort(), { times: 1 });
    await page.goto(`${url}/history?q=list_orders`);
    await page.locator('.history-action').first().getByRole('button').click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /Roll back/ })
      .click();
    const preview = page.getByRole('dialog', { name: /^Restore the previous state/ });
    await preview.getByRole('button', { name: 'Try again' }).click();
    await preview.getByText('Orders of a customer').waitFor();

    await page.route(/api\/v1\/identity-providers\/.*test/, (route) => route.abort(), { times: 1 });
    await page.goto(`${url}/settings/sign_in`);
    await page.getByRole('button', { name: 'More for Lost' }).click();
    await page.getByRole('menuitem', { name: 'Test' }).click();
    const test = page.getByRole('dialog', { name: 'Test of Lost' });
    await test.getByRole('button', { name: 'Try again' }).click();
    await test.getByText('Sign-ins will fail').waitFor();
    opened.faults.length = 0;
    await close(opened);
  },
  LIMIT_MS,
);
