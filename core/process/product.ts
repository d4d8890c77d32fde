import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** One compiled file holds every program and what they read; Bun shows its inside as a folder. */
const HERE = import.meta.dirname;

export const is_compiled: boolean = HERE.startsWith('/$bunfs/') || HERE.includes('~BUN');

const ROOT = is_compiled ? HERE.replace(/([\\/]root)[\\/].*$/, '$1') : join(HERE, '../..');

/** Where a file of the product is, by its path in the repository. */
export const productFile = (path: string): string => join(ROOT, path);

/** Where a compiled file keeps sources: a module that was compiled in is no file to read. */
export const SOURCES = 'dist/sources';

/** Where the text of one of our modules is. */
export const productSource = (path: string): string => productFile(is_compiled ? `${SOURCES}/${path}` : path);

/** Draws results in clients with MCP Apps; built with the UI. */
export const VIEW_PAGE = 'ui/dist/view.html';

/** The programs, by the word that a compiled file takes as its first argument. */
export const PROGRAMS = {
  server: 'server/main.ts',
  host: 'mcp-host/main.ts',
  agent: 'agent/main.ts',
  stdio: 'mcp-host/stdio.ts',
  'sqlite-child': 'core/engines/sqlite/child.ts',
  'duckdb-child': 'core/engines/duckdb/child.ts',
  'project-child': 'core/deploy/generated-child.ts',
} as const;

const is_deno = 'deno' in process.versions;

/** What Deno runs instead. */
const ON_DENO: Partial<Readonly<Record<keyof typeof PROGRAMS, string>>> = {
  'sqlite-child': 'mcp-host/runtime/deno-sqlite-child.ts',
};

/** What starts a program as a process of its own. @param flags of Bun, where there is a Bun to take them. */
export function programCommand(name: keyof typeof PROGRAMS, flags: readonly string[] = []): string[] {
  if (is_compiled) return [process.execPath, name];
  if (is_deno) return [process.execPath, 'run', '--allow-all', '--no-lock', productFile(ON_DENO[name] ?? PROGRAMS[name])];
  return [process.execPath, ...flags, productFile(PROGRAMS[name])];
}

/** The arguments that a program was started with; the word that names it was taken out (`server/sluice.ts`). */
export const programArguments = (): string[] => process.argv.slice(2);

/**
 * Ends the program when a signal or the end of its parent, which started it with a channel, asks for it. Asked again, it ends at once.
 * @returns whether it ends.
 */
export function onStop(stop: () => Promise<void>, signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']): () => boolean {
  let stopping = false;
  const end = async (): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    await stop();
    process.exit(0);
  };
  for (const signal of signals) process.on(signal, () => void end());
  process.on('disconnect', () => void end());
  return () => stopping;
}

/** Where a file of a package is that we are installed with: below us, or beside us where npm installed us as a package too. */
export function packageFile(path: string): string {
  const below = productFile(join('node_modules', path));
  const beside = productFile(join('..', path));
  return !is_compiled && !existsSync(below) && existsSync(beside) ? beside : below;
}
