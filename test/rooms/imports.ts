import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folders whose files belong to rooms. */
export const FOLDERS = ['core', 'snapshots', 'mcp-host', 'server', 'agent'];

/** One name that a file takes from another. */
export interface Use {
  readonly from: string;
  readonly to: string;
  readonly name: string;
  readonly type: boolean;
}

export interface Imports {
  readonly uses: readonly Use[];
  /** Lines of each file by its path. */
  readonly lines: ReadonlyMap<string, number>;
}

interface Text {
  readonly value: string;
}
interface ModuleRecord {
  readonly staticImports: readonly {
    readonly moduleRequest: Text;
    readonly entries: readonly { readonly importName: { readonly name: string | null }; readonly isType: boolean }[];
  }[];
  readonly staticExports: readonly {
    readonly entries: readonly {
      readonly moduleRequest: Text | null;
      readonly importName: { readonly name: string | null };
      readonly isType: boolean;
    }[];
  }[];
  readonly dynamicImports: readonly { readonly moduleRequest: { readonly start: number; readonly end: number } }[];
}
type Parse = (name: string, text: string) => { readonly module: ModuleRecord; readonly errors: readonly unknown[] };

/** Who imports what from whom, types included. */
export async function readImports(root: string): Promise<Imports> {
  // The parser of oxc, as Vite's bundler brings it.
  const { parseSync } = (await import(Bun.resolveSync('rolldown/utils', root))) as { readonly parseSync: Parse };
  const paths = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => /\.tsx?$/.test(path) && !path.includes('node_modules')),
  ).toSorted();
  const uses: Use[] = [];
  const lines = new Map<string, number>();
  for (const path of paths) {
    const text = readFileSync(join(root, path), 'utf8');
    lines.set(path, text.trimEnd().split('\n').length);
    uses.push(...usesOf(path, text, parseSync));
  }
  return { uses, lines };
}

function usesOf(path: string, text: string, parse: Parse): Use[] {
  const { module, errors } = parse(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${JSON.stringify(errors[0])}`);
  const uses: Use[] = [];
  const add = (request: string | undefined, name: string, type: boolean): void => {
    const to = request === undefined ? null : ourPath(path, request);
    if (to !== null && to !== path) uses.push({ from: path, to, name, type });
  };
  for (const { moduleRequest, entries } of module.staticImports) {
    if (entries.length === 0) add(moduleRequest.value, '(effect)', false);
    for (const { importName, isType } of entries) add(moduleRequest.value, importName.name ?? '*', isType);
  }
  for (const { moduleRequest, importName, isType } of module.staticExports.flatMap(({ entries }) => entries))
    add(moduleRequest?.value, importName.name ?? '*', isType);
  for (const { moduleRequest } of module.dynamicImports)
    add(text.slice(moduleRequest.start + 1, moduleRequest.end - 1), 'import()', false);
  // Types that are named where they are used.
  for (const [, request, name] of text.matchAll(/\b(?<!await )import\('([#.][^']+)'\)\.(\w+)/g)) add(request, name ?? '*', true);
  return uses;
}

const ourPath = (from: string, request: string): string | null =>
  request.startsWith('#') ? request.slice(1) : request.startsWith('.') ? join(dirname(from), request) : null;
