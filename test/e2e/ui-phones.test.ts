import { expect } from 'bun:test';
import { browserTest } from '#test/support/browser.ts';
import { close, LIMIT_MS, startUi } from '#test/support/ui.ts';

const ui = startUi({ role: 'server' });

browserTest(
  'on a phone filters stand two in a row, and a toast covers no title of a dialog',
  async () => {
    const opened = await ui.signedIn(390);
    const { page } = opened;
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${ui.programs.url}/logs?view=sessions`);
    const filters = page.locator('.filter-bar > *');
    await filters.nth(4).waitFor();
    const tops = await filters.evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));
    expect(new Set(tops).size).toBeLessThanOrEqual(3);

    await page.goto(`${ui.programs.url}/people`);
    await page
      .getByRole('main')
      .getByRole('button', { name: /person/i })
      .first()
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Username').waitFor();
    // The dialog moves in.
    await page.waitForFunction(() => document.getAnimations().every(({ playState }) => playState !== 'running'));
    const at = () => dialog.evaluate((element) => element.getBoundingClientRect().top);
    const before = await at();
    await page.locator('.toasts').evaluate((list) => {
      const toast = document.createElement('div');
      toast.className = 'toast';
      toast.textContent = 'Saved, with a sentence that takes more than one line on a phone.';
      list.append(toast);
    });
    await page.waitForFunction(
      (from) => (document.querySelector('[role=dialog]')?.getBoundingClientRect().top ?? 0) > from,
      before,
    );
    expect(await at()).toBeGreaterThanOrEqual(
      await page.locator('.toast').evaluate((toast) => toast.getBoundingClientRect().bottom),
    );
    await page.locator('.toast').evaluate((toast) => toast.remove());
    await page.waitForFunction((from) => document.querySelector('[role=dialog]')?.getBoundingClientRect().top === from, before);
    await close(opened);
  },
  LIMIT_MS,
);
