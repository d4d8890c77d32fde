import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { engineOf } from '#core/engines/index.ts';
import { AppError } from '#core/errors.ts';
import { productFile, VIEW_PAGE } from '#core/process/product.ts';
import type { FrozenConnection } from '#snapshots/format/format.ts';
import type { Bundled } from './format.ts';
import type { BundleTarget } from '#core/engines/shared/descriptor.ts';
import { bundledText } from './freeze-bundle.ts';

/** Bytes of a bundle as gzip: what the smallest plans of platforms take. */
const LARGEST_GZIP = 1024 * 1024;

export interface BuiltBundle {
  readonly text: string;
  readonly bytes: number;
  readonly gzip_bytes: number;
  /** It has the page that draws results. */
  readonly view: boolean;
}

/** Where each platform begins: `export default` is what it serves. */
const ENTRIES: Readonly<Record<BundleTarget, readonly [file: string, name: string]>> = {
  workers: ['mcp-host/edge/workers.ts', 'serveWorkers'],
  deno: ['mcp-host/edge/process.ts', 'serveDeno'],
  bun: ['mcp-host/edge/process.ts', 'serveBun'],
};
const ENTRY = 'sluice-bundle-entry';
const LEFT_OUT = 'sluice-left-out';
const EMITTER = 'sluice-emitter';

/** Modules that stand for others in an isolate. */
const INSTEAD: Readonly<Record<string, string>> = {
  'mcp-host/runtime/runtime.ts': 'mcp-host/edge/runtime.ts',
};

/** Writes one module of the host's own sources. Throws `invalid` when it is too large. @param connections that it reaches. */
export async function buildBundle(
  bundled: Bundled,
  connections: readonly FrozenConnection[],
  target: BundleTarget,
): Promise<BuiltBundle> {
  const [file, name] = ENTRIES[target];
  const page = viewPage();
  const entry = `import { ${name} } from ${JSON.stringify(productFile(file))};\nexport default ${name}(${JSON.stringify(bundledText({ ...bundled, ...page }))});\n`;
  const drivers = new Set(connections.map(({ db_type }) => `core/engines/${engineOf(db_type).name}/source.ts`));
  const built = await Bun.build({
    entrypoints: [ENTRY],
    target: 'node',
    format: 'esm',
    minify: { whitespace: true, syntax: true, identifiers: true },
    external: ['cloudflare:sockets'],
    plugins: [isolatePlugin(entry, drivers)],
  });
  const [output] = built.outputs;
  if (output === undefined || built.outputs.length > 1) throw new Error('A bundle is one module.');
  const text = await output.text();
  const sizes = { bytes: Buffer.byteLength(text), gzip_bytes: gzipSync(text).length };
  if (sizes.gzip_bytes > LARGEST_GZIP) throw tooLarge(sizes.gzip_bytes, gzipSync(entry).length);
  return { text, ...sizes, view: page.view !== undefined };
}

/** What was not built is not bundled: results are not drawn then. */
function viewPage(): Pick<Bundled, 'view'> {
  const path = productFile(VIEW_PAGE);
  return existsSync(path) ? { view: readFileSync(path, 'utf8') } : {};
}

const kib = (bytes: number): string => `${Math.ceil(bytes / 1024)} KiB`;
const tooLarge = (all: number, snapshot: number): AppError =>
  new AppError(
    'invalid',
    `The bundle has ${kib(all)} as gzip, and ${kib(LARGEST_GZIP)} are allowed. Its snapshot alone has ${kib(snapshot)}: deploy fewer definitions, or bundle from a second installation.`,
  );

/** Takes sources as they are, but for what an isolate has no use for. @param drivers files of the engines that are needed. */
function isolatePlugin(entry: string, drivers: ReadonlySet<string>): Bun.BunPlugin {
  const root = productFile('');
  const inProduct = (path: string): string => relative(root, path);
  return {
    name: 'isolate',
    setup(build) {
      build.onResolve({ filter: new RegExp(`^${ENTRY}$`) }, () => ({ path: ENTRY, namespace: ENTRY }));
      build.onLoad({ filter: /./, namespace: ENTRY }, () => ({ contents: entry, loader: 'js' }));
      build.onResolve({ filter: /^[#.]/ }, ({ path, importer, kind }) => {
        const wanted = path.startsWith('#') ? path.slice(1) : inProduct(join(dirname(importer), path));
        const instead = INSTEAD[wanted];
        if (instead !== undefined) return { path: productFile(instead) };
        // An engine loads what it needs when it is used: here its driver alone is.
        const late = kind === 'dynamic-import' && wanted.startsWith('core/engines/');
        return late && !drivers.has(wanted) ? { path: wanted, namespace: LEFT_OUT } : undefined;
      });
      build.onLoad({ filter: /./, namespace: LEFT_OUT }, () => ({ contents: 'export {};', loader: 'js' }));
      // The parser of templates inherits from it and emits nothing.
      build.onResolve({ filter: /^events$/ }, () => ({ path: EMITTER, namespace: EMITTER }));
      build.onLoad({ filter: /./, namespace: EMITTER }, () => ({ contents: 'module.exports = class {};', loader: 'js' }));
    },
  };
}
