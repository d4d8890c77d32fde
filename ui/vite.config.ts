import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import solid from 'vite-plugin-solid';
import { viewPage } from './view-page.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
const api = 'http://127.0.0.1:3000';

/** A constant style would become an attribute of a template, which the page's policy refuses; as a call it is set by script. */
const strictStyles: Plugin = {
  name: 'strict-styles',
  enforce: 'pre',
  transform: (code, id) =>
    id.includes('@kobalte/core') && code.includes('style={{ "font-size"')
      ? code.replaceAll(/style=\{(\{ "font-size": "16px" \})\}/g, 'style={(() => ($1))()}')
      : undefined,
};

/**
 * Every style sheet that a module imports belongs to one layer of `styles/index.css`: those of packages lie under everything,
 * those of components beside the kit, those of features and pages over both.
 */
const layers: Plugin = {
  name: 'layers',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('.css') || id.endsWith('/src/styles/index.css')) return undefined;
    const layer = id.includes('/node_modules/') ? 'base' : id.includes('/src/components/') ? 'kit' : 'pages';
    return `@layer ${layer} {\n${code}}\n`;
  },
};

/** The list of routes as data, without those that only agents call: the schemas that it is made from stay out of the first page. */
const routesAsData: Plugin = {
  name: 'routes-as-data',
  enforce: 'pre',
  async load(id) {
    if (!id.endsWith('/core/contract/routes.ts')) return undefined;
    const { routes } = await import('#core/contract/routes.ts');
    const called = Object.entries(routes).filter(([name]) => !name.startsWith('agent.'));
    return `export const routes = ${JSON.stringify(Object.fromEntries(called))};`;
  },
};

export default defineConfig({
  root: here,
  base: '/',
  plugins: [strictStyles, layers, routesAsData, solid(), viewPage],
  // `#core/*` and `#ui/*` are the package's own `imports`, which Vite resolves as Node does.
  build: {
    outDir: fileURLToPath(new URL('dist', import.meta.url)),
    emptyOutDir: true,
    target: ['chrome123', 'firefox120', 'safari17.5'],
    // `default-src 'self'` refuses data: addresses and the polyfill is not needed by these browsers.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { port: 5173, strictPort: true, proxy: { '/api': { target: api, ws: true }, '/agent-mcp': api } },
});
