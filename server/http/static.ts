import type { Hono } from 'hono';
import { existsSync, statSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { AppError } from '#core/errors.ts';
import { packageFile, productFile } from '#core/process/product.ts';
import type { ServerEnv } from '#server/request/server-env.ts';

const UI = productFile('ui/dist');
const DOCS = productFile('ui/docs');

/** Lets Swagger UI run from this origin alone. */
const DOCS_POLICY =
  "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; worker-src 'self' blob:; frame-ancestors 'none'";
const BUNDLES: ReadonlyMap<string, { readonly file: string; readonly type: string }> = new Map(
  Object.entries({
    'swagger-ui-bundle.js': { file: packageFile('swagger-ui-dist/swagger-ui-bundle.js'), type: 'text/javascript' },
    'swagger-ui.css': { file: packageFile('swagger-ui-dist/swagger-ui.css'), type: 'text/css' },
    'swagger-init.js': { file: join(DOCS, 'swagger-init.js'), type: 'text/javascript' },
  }),
);

/** The UI, built into ui/dist, and the documentation pages. Every unknown path below `/` is a page of the UI. */
export function addStatic(router: Hono<ServerEnv>): void {
  for (const path of ['/api/docs', '/api/redoc']) router.get(path, () => page(join(DOCS, 'swagger.html'), DOCS_POLICY));
  router.get('/api/docs/assets/:file', (c) => {
    const bundle = BUNDLES.get(c.req.param('file'));
    if (bundle === undefined || !isFile(bundle.file)) return c.notFound();
    return new Response(Bun.file(bundle.file), {
      headers: { 'content-type': `${bundle.type}; charset=utf-8`, 'cache-control': 'public, max-age=86400' },
    });
  });
  router.get('*', (c) => {
    const path = normalize(new URL(c.req.url).pathname);
    if (/^\/(?:api|\.well-known)(?:\/|$)/.test(path)) return c.notFound();
    const file = join(UI, path);
    if (file.startsWith(`${UI}/`) && isFile(file)) {
      const hashed = path.startsWith('/assets/');
      return new Response(Bun.file(file), {
        headers: { 'cache-control': hashed ? 'public, max-age=31536000, immutable' : 'no-cache' },
      });
    }
    if (path.startsWith('/assets/')) return c.notFound();
    return page(join(UI, 'index.html'), null);
  });
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

function page(file: string, policy: string | null): Response {
  if (!isFile(file)) {
    throw new AppError('unavailable', 'The UI is not built. Run `npm start`, or `bun run build:ui`.');
  }
  return new Response(Bun.file(file), {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      ...(policy === null ? {} : { 'content-security-policy': policy }),
    },
  });
}
