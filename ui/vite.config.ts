import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import solid from 'vite-plugin-solid';

const here = fileURLToPath(new URL('.', import.meta.url));
const api = 'http://127.0.0.1:3000';

export default defineConfig({
  root: here,
  base: '/',
  plugins: [solid()],
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
