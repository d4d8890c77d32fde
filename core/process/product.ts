import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { exitAfterLog } from './exit.ts';

/** A compiled executable contains all programs and their files, which Bun presents as a folder. */
const HERE = import.meta.dirname;

export const is_compiled: boolean = HERE.startsWith('/$bunfs/') || HERE.includes('~BUN');

const ROOT = is_compiled ? HERE.replace(/([\\/]root)[\\/].*$/, '$1') : join(HERE, '../..');

/** Absolute path of a product file, from its path in the repository. */
export const productFile = (path: string): string => join(ROOT, path);

/** Folder of the sources in an executable, because its compiled modules cannot be read as files. */
export const SOURCES = 'dist/sources';

/** Absolute path of the source text of a product module. */
export const productSource = (path: string): string => productFile(is_compiled ? `${SOURCES}/${path}` : path);

/** The page that renders results in clients with MCP Apps; built with the UI. */
export const VIEW_PAGE = 'ui/dist/view.html';

/** Programs by their name, the first argument of a compiled executable. */
export const PROGRAMS = {
  server: 'server/main.ts',
  host: 'mcp-host/main.ts',
  agent: 'agent/main.ts',
  stdio: 'mcp-host/stdio.ts',
  'server-child': 'server/run-server.ts',
  'sqlite-child': 'core/engines/sqlite/child.ts',
  'duckdb-child': 'core/engines/duckdb/child.ts',
  'project-child': 'core/deploy/generated-child.ts',
} as const;

const is_deno = 'deno' in process.versions;

/** Alternative programs for Deno. */
const ON_DENO: Partial<Readonly<Record<keyof typeof PROGRAMS, string>>> = {
  'sqlite-child': 'mcp-host/runtime/deno-sqlite-child.ts',
};

/** The command line that starts a program as a separate process. @param flags options for Bun, ignored by other runtimes. */
export function programCommand(name: keyof typeof PROGRAMS, flags: readonly string[] = []): string[] {
  if (is_compiled) return [process.execPath, name];
  if (is_deno) return [process.execPath, 'run', '--allow-all', '--no-lock', productFile(ON_DENO[name] ?? PROGRAMS[name])];
  return [process.execPath, ...flags, productFile(PROGRAMS[name])];
}

/** The arguments of this program; `server/sluice.ts` already removed the program's name. */
export const programArguments = (): string[] => process.argv.slice(2);

/**
 * Calls `stop` on a signal, or when the parent process closes the channel. A second signal exits immediately.
 * @returns whether the program is stopping.
 */
export function onStop(stop: () => Promise<void>, signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']): () => boolean {
  let stopping = false;
  const end = async (): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    await stop();
    await exitAfterLog(0);
  };
  for (const signal of signals) process.on(signal, () => void end());
  process.on('disconnect', () => void end());
  return () => stopping;
}

/** Path of a file in a dependency: below Sluice, or beside it if npm installed Sluice as a package too. */
export function packageFile(path: string): string {
  const below = productFile(join('node_modules', path));
  const beside = productFile(join('..', path));
  return !is_compiled && !existsSync(below) && existsSync(beside) ? beside : below;
}
