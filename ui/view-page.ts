import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';

/** What a browser lets the page do, wherever a client shows it: its own script and style, and nothing from anywhere. */
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Writes the page that draws results in clients with MCP Apps: one file that loads nothing. */
export const viewPage: Plugin = {
  name: 'view-page',
  apply: 'build',
  async generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'view.html', source: await buildViewPage() });
  },
};

async function buildViewPage(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'warn',
    build: {
      write: false,
      target: ['chrome123', 'firefox120', 'safari17.5'],
      modulePreload: { polyfill: false },
      cssCodeSplit: false,
      rolldownOptions: {
        input: fileURLToPath(new URL('src/view/page.ts', import.meta.url)),
        // A script of the old kind runs wherever the page is written into a document.
        output: { format: 'iife' },
      },
    },
  });
  const outputs = [built].flat().flatMap((one) => ('output' in one ? one.output : []));
  const script = outputs.find((one) => one.type === 'chunk')?.code ?? '';
  const style = outputs.find((one) => one.type === 'asset' && one.fileName.endsWith('.css'));
  const css = style?.type === 'asset' ? String(style.source) : '';
  if (outputs.length !== 2 || css === '') throw new Error('The view is one script and one style.');
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    '<meta name="viewport" content="width=device-width"><title>Result</title>',
    `<style>${css.trim()}</style></head><body>`,
    `<script>${script.trim().replaceAll('</script', String.raw`<\/script`)}</script></body></html>\n`,
  ].join('');
}
