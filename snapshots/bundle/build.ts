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

/** Maximum gzip size of a bundle in bytes: the limit of the platforms' smallest plans. */
const LARGEST_GZIP = 1024 * 1024;

export interface BuiltBundle {
  readonly text: string;
  readonly bytes: number;
  readonly gzip_bytes: number;
  /** Whether it contains the page that renders results. */
  readonly view: boolean;
}

/** Entry module of each platform, and the function for its `export default`. */
const ENTRIES: Readonly<Record<BundleTarget, readonly [file: string, name: string]>> = {
  workers: ['mcp-host/edge/workers.ts', 'serveWorkers'],
  deno: ['mcp-host/edge/process.ts', 'serveDeno'],
  bun: ['mcp-host/edge/process.ts', 'serveBun'],
};
const ENTRY = 'sluice-bundle-entry';
const LEFT_OUT = 'sluice-left-out';
const EMITTER = 'sluice-emitter';

/** Modules that a bundle replaces, by path. */
const INSTEAD: Readonly<Record<string, string>> = {
  'mcp-host/runtime/runtime.ts': 'mcp-host/edge/runtime.ts',
};

/**
 * Builds one module from the host's sources. Throws `invalid` if it is too large. @param connections the connections that it
 * uses.
 */
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

/** Without a built page, a bundle does not render results. */
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

/** Bundles the sources without the parts that an isolate cannot use. @param drivers files of the required engines. */
function isolatePlugin(entry: string, drivers: ReadonlySet<string>): Bun.BunPlugin {
  const root = productFile('');
  const inProduct = (path: string): string => relative(root, path);
  return {
    name: 'isolate',
    setup(build) {
      build.onResolve({ filter: new RegExp(`^${ENTRY}$`) }, () => ({ path: ENTRY, namespace: ENTRY }));
      build.onLoad({ filter: /./, namespace: ENTRY }, () => ({ contents: entry, loader: 'js' }));
      build.onResolve({ filter: /^[#.]/ }, ({ path, importer, kind }) => {
        const source_path = path.startsWith('#') ? path.slice(1) : inProduct(join(dirname(importer), path));
        const instead = INSTEAD[source_path];
        if (instead !== undefined) return { path: productFile(instead) };
        // Engines import their parts when they are first used; a bundle includes only the drivers.
        const late = kind === 'dynamic-import' && source_path.startsWith('core/engines/');
        return late && !drivers.has(source_path) ? { path: source_path, namespace: LEFT_OUT } : undefined;
      });
      build.onLoad({ filter: /./, namespace: LEFT_OUT }, () => ({ contents: 'export {};', loader: 'js' }));
      // The template parser inherits from it but emits nothing.
      build.onResolve({ filter: /^events$/ }, () => ({ path: EMITTER, namespace: EMITTER }));
      build.onLoad({ filter: /./, namespace: EMITTER }, () => ({ contents: 'module.exports = class {};', loader: 'js' }));
    },
  };
}
