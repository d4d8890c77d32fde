import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { McpUiHostCapabilities, McpUiHostContext } from '@modelcontextprotocol/ext-apps/app-bridge';
import type { Browser, BrowserContext, Frame, Page } from 'playwright-core';
import { openPage } from '#test/support/browser.ts';
import type { Shown } from './client-page.ts';

/** How a client puts the page into its sandbox. */
export type Way = 'write' | 'srcdoc';

/** What MCP Apps prescribes for a page that asks for nothing. */
const POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'";

/** The page of the sandbox: shows what it is handed in a frame of its own, and passes every message on. */
const sandboxPage = (way: Way): string => `<!doctype html><meta charset="utf-8"><title>Sandbox</title>
<style>html,body{margin:0;height:100%}iframe{display:block;border:0;width:100%;height:100%}</style>
<script>
const frame = document.createElement('iframe');
frame.title = 'View';
frame.setAttribute('sandbox', ${JSON.stringify(way === 'write' ? 'allow-scripts allow-same-origin' : 'allow-scripts')});
document.documentElement.append(document.createElement('body'));
document.body.append(frame);
addEventListener('message', ({ source, data }) => {
  if (source === frame.contentWindow) return parent.postMessage(data, '*');
  if (source !== parent) return;
  if (data.method !== 'ui/notifications/sandbox-resource-ready') return frame.contentWindow.postMessage(data, '*');
  ${
    way === 'write'
      ? 'frame.contentDocument.open(); frame.contentDocument.write(data.params.html); frame.contentDocument.close();'
      : 'frame.srcdoc = data.params.html;'
  }
});
parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready', params: {} }, '*');
</script>`;

export const VIEW_HTML = join(import.meta.dir, '../../ui/dist/view.html');
export const viewHtml = (): string => readFileSync(VIEW_HTML, 'utf8');

export const EVERYTHING: McpUiHostCapabilities = { serverTools: {}, downloadFile: {}, openLinks: {} };

export interface ShowOptions {
  readonly way?: Way;
  readonly width?: number;
  readonly html?: string;
  readonly capabilities?: McpUiHostCapabilities;
  readonly context?: McpUiHostContext;
  readonly again?: CallToolResult;
}

/** A view as a client shows it, with the official bridge around it. */
export interface ShownView {
  readonly page: Page;
  /** The frame of the view itself. */
  readonly view: Frame;
  /** Console errors, refusals of the policy, and requests to elsewhere or by the view. */
  readonly faults: string[];
  readonly context: BrowserContext;
}

export interface ViewClients {
  show(browser: Browser, options?: ShowOptions): Promise<ShownView>;
  stop(): Promise<void>;
}

/** Two servers: the client on 127.0.0.1, the sandbox on localhost, which is another origin. */
export async function openViewClients(): Promise<ViewClients> {
  const built = await Bun.build({ entrypoints: [join(import.meta.dir, 'client-page.ts')], target: 'browser' });
  const script = await built.outputs[0]?.text();
  if (script === undefined) throw new Error(built.logs.map(({ message }) => message).join('\n'));
  const html = { 'content-type': 'text/html; charset=utf-8' };
  const client = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) =>
      new URL(url).pathname === '/client.js'
        ? new Response(script, { headers: { 'content-type': 'text/javascript' } })
        : new Response(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Client</title><style>body{margin:0}iframe{display:block;border:0;width:100%;height:300px}</style><body><script type="module" src="/client.js"></script></body></html>',
            { headers: html },
          ),
  });
  const sandbox = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) =>
      new Response(sandboxPage(new URL(url).searchParams.get('way') === 'srcdoc' ? 'srcdoc' : 'write'), {
        headers: { ...html, 'content-security-policy': `${POLICY}; frame-src 'self'` },
      }),
  });
  return {
    async show(browser, options = {}) {
      const { way = 'write', width = 720, context = {}, capabilities = EVERYTHING } = options;
      const scheme = context.theme === 'dark' ? 'dark' : 'light';
      const opened = await openPage(browser, { width, scheme });
      const { page, faults } = opened;
      await page.goto(`http://127.0.0.1:${client.port}/`);
      await page.waitForFunction(() => 'client' in window);
      const shown: Shown = {
        sandbox: `http://localhost:${sandbox.port}/?way=${way}`,
        html: options.html ?? viewHtml(),
        capabilities,
        context,
        again: options.again ?? { content: [] },
      };
      page.on('request', (request) => {
        if (!request.url().startsWith(shown.sandbox)) faults.push(`asked ${request.url()}`);
      });
      await page.evaluate((given) => window.client.show(given as Shown), shown as unknown);
      const view = page.frames().at(-1);
      if (view === undefined) throw new Error('The view has no frame.');
      return { page, view, faults, context: opened.context };
    },
    async stop() {
      await Promise.all([client.stop(true), sandbox.stop(true)]);
    },
  };
}
