import { cpSync, readdirSync, rmSync } from 'node:fs';
import { SOURCES } from '#core/process/product.ts';
import { join, resolve } from 'node:path';
import type { BunPlugin } from 'bun';

/**
 * `bun run build:binary [file]`: the server with the other programs, the UI and everything they read from disk in one
 * executable for this kind of machine.
 */
const ROOT = resolve(import.meta.dir, '..');
/** The folder that contains the files of an executable (`core/process/product.ts`). */
const INSIDE = process.platform === 'win32' ? 'B:/~BUN/root' : '/$bunfs/root';

const FOLDERS = ['ui/dist', 'ui/docs', 'core/store/migrations', SOURCES];
/** Generated projects contain copies of these sources. A file that is also a module must be embedded under another path. */
const COPIED = [
  'package.json',
  'core/errors.ts',
  'core/process/issues.ts',
  'core/contract',
  'core/edge',
  'core/engines',
  'core/lib',
  'core/query',
  'snapshots/generate',
];
const FILES = [
  'node_modules/@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb',
  'node_modules/libpg-query/wasm/libpg-query.wasm',
  'node_modules/swagger-ui-dist/swagger-ui-bundle.js',
  'node_modules/swagger-ui-dist/swagger-ui.css',
];

for (const path of COPIED) cpSync(join(ROOT, path), join(ROOT, SOURCES, path), { recursive: true });

const embedded = [
  ...FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  ),
  ...FILES.map((file) => join(ROOT, file)),
];

const plugin: BunPlugin = {
  name: 'one file',
  setup(build) {
    // 70 MB of native code for each kind of machine: a host that serves DuckDB runs from the npm package. An unresolved import
    // would end every program at its start; this one fails with a clear sentence, only where DuckDB is used.
    build.onResolve({ filter: /^@duckdb\// }, ({ path }) => ({ path, namespace: 'left-out' }));
    // Native parts that ssh2 does without: it catches the error.
    build.onResolve({ filter: /^cpu-features$|sshcrypto\.node$/ }, ({ path }) => ({ path, namespace: 'left-out' }));
    build.onLoad({ filter: /.*/, namespace: 'left-out' }, ({ path }) => ({
      loader: 'js',
      contents: `module.exports = {}; throw new Error(${JSON.stringify(`${path} is not part of the executable.`)});`,
    }));
    build.onLoad({ filter: /server\/sluice\.ts$/ }, async ({ path }) => ({
      loader: 'ts',
      contents: [
        ...embedded.map((file, index) => `import f${index} from ${JSON.stringify(file)} with { type: 'file' };`),
        await Bun.file(path).text(),
        // An embedded file without a reference would be left out.
        `Object.defineProperty(globalThis, Symbol.for('files'), { value: [${embedded.map((_, index) => `f${index}`).join(', ')}] });`,
      ].join('\n'),
    }));
    // The driver computes the name of its native library at run time, and the parser loads its WebAssembly from its folder.
    build.onLoad({ filter: /node_modules\/libsql\/index\.js$/ }, async ({ path }) => ({
      loader: 'js',
      contents: (await Bun.file(path).text()).replace('require(`@libsql/${target}`)', `require('@libsql/${nativeTarget()}')`),
    }));
    build.onLoad({ filter: /libpg-query\/wasm\/libpg-query\.js$/ }, async ({ path }) => ({
      loader: 'js',
      contents: (await Bun.file(path).text()).replaceAll('__dirname', JSON.stringify(`${INSIDE}/node_modules/libpg-query/wasm`)),
    }));
  },
};

function nativeTarget(): string {
  const name = `${process.platform}-${process.arch}`;
  const found = readdirSync(join(ROOT, 'node_modules/@libsql')).find((entry) => entry.startsWith(name));
  if (found === undefined) throw new Error(`libSQL has no native part for ${name} in node_modules.`);
  return found;
}

const outfile = resolve(process.argv[2] ?? join(ROOT, 'dist/sluice'));
const result = await Bun.build({
  entrypoints: [join(ROOT, 'server/sluice.ts')],
  root: ROOT,
  target: 'bun',
  minify: { syntax: true, whitespace: true },
  naming: { asset: '[dir]/[name].[ext]' },
  plugins: [plugin],
  // The executable runs in any folder, whose Bun settings belong to another program.
  compile: { outfile, autoloadBunfig: false },
});
rmSync(join(ROOT, SOURCES), { recursive: true });
for (const log of result.logs) process.stderr.write(`${log.message}\n`);
if (!result.success) process.exit(1);
process.stdout.write(`${outfile}: ${(Bun.file(outfile).size / 1_000_000).toFixed(0)} MB\n`);
