import { afterAll, beforeAll, expect } from 'bun:test';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Browser } from 'playwright-core';
import { openBrowser } from '#test/support/browser.ts';
import { openViewClients, type ShownView, type ShowOptions, type ViewClients } from './view-client.ts';

/** The clients and the browser for the tests of one file. */
export function startViews() {
  let clients: ViewClients | undefined;
  let browser: Browser | undefined;
  beforeAll(async () => {
    clients = await openViewClients();
  });
  afterAll(async () => {
    await browser?.close();
    await clients?.stop();
  });
  return {
    /** Shows the page, does something with it, and expects that it asked for nothing and failed nowhere. */
    withView: async (options: ShowOptions, work: (shown: ShownView) => Promise<void>): Promise<void> => {
      browser ??= await openBrowser();
      const shown = await clients?.show(browser, options);
      if (shown === undefined) throw new Error('The clients did not start.');
      try {
        await work(shown);
        expect(shown.faults).toEqual([]);
      } finally {
        await shown.context.close();
      }
    },
  };
}

export const structured = (rows: readonly object[], meta: object = {}): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify({ rows }) }],
  structuredContent: { rows, row_count: rows.length, truncated: false },
  _meta: meta as Record<string, unknown>,
});
export const drawnAs = (view: object): Record<string, unknown> => ({ 'sluice/view': view });
export const give = ({ page }: ShownView, result: CallToolResult) =>
  page.evaluate((given) => window.client.result(given), result);
