import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { productSource } from '#core/process/product.ts';

export interface GeneratedFile {
  /** Path below the project's folder, with `/`. */
  readonly path: string;
  readonly content: string;
}

const IMPORT = /(\bfrom\s+|\bimport\s+)'((?:#|\.)[^']+)'/g;

/** Path of each product source in a generated project. Sources of which only types are needed become one file. */
const PLACES: readonly (readonly [from: RegExp, to: string])[] = [
  [
    /^core\/(contract\/definitions\/(connections|masks|pages|parameters|session-values|tools)|engines\/shared\/(source|connection-settings)|lib\/sql\/result)\.ts$/,
    'src/engine/types.ts',
  ],
  [/^snapshots\/generate\/project\/(no-)?templates\.ts$/, 'src/templates.ts'],
  [/^snapshots\/generate\/project\//, 'src/'],
  [/^core\/query\//, 'src/engine/'],
  [/^core\/lib\//, 'src/engine/'],
  [/^core\/engines\//, 'src/engine/databases/'],
  [/^core\//, 'src/engine/'],
];

/**
 * The product's sources with all their imports, as files of a project: the code that served the snapshot, with rewritten import
 * paths.
 */
export function ourSources(entries: readonly string[]): GeneratedFile[] {
  const done = new Map<string, GeneratedFile>();
  const queue = [...entries];
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const target_path = targetPathOf(path);
    if (done.has(target_path) || target_path === 'src/engine/types.ts') continue;
    const content = readSource(path).replace(IMPORT, (_, keyword: string, specifier: string) => {
      const target = specifier.startsWith('#') ? specifier.slice(1) : join(dirname(path), specifier);
      queue.push(target);
      const link = relative(dirname(target_path), targetPathOf(target));
      return `${keyword}'${link.startsWith('.') ? link : `./${link}`}'`;
    });
    done.set(target_path, { path: target_path, content: withRequire(content) });
  }
  return [...done.values()];
}

export const readSource = (path: string): string => readFileSync(productSource(path), 'utf8');

function targetPathOf(path: string): string {
  const found = PLACES.find(([from]) => from.test(path));
  if (found === undefined) throw new Error(`A generated project has no place for ${path}.`);
  const [from, to] = found;
  return to.endsWith('/') ? path.replace(from, to) : to;
}

/** Bun provides `require` in every module; Node does not. */
function withRequire(content: string): string {
  if (!/\brequire\('/.test(content) || content.includes('createRequire')) return content;
  return `import { createRequire } from 'node:module';\n${content.replace(/\n(?!import )/, '\nconst require = createRequire(import.meta.url);\n')}`;
}
