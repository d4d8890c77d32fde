import { PROGRAMS } from '#core/product.ts';

/** What a compiled file does first: become the program that its first argument names; other words are the command line's. */
const STARTS: Readonly<Record<keyof typeof PROGRAMS, () => Promise<unknown>>> = {
  server: () => import('./main.ts'),
  host: () => import('../mcp-host/main.ts'),
  agent: () => import('../agent/main.ts'),
  stdio: () => import('../mcp-host/stdio.ts'),
  'sqlite-child': () => import('#core/engines/sqlite/child.ts'),
  'duckdb-child': () => import('#core/engines/duckdb/child.ts'),
};

const [word = 'server'] = process.argv.slice(2);
await (isProgram(word) ? STARTS[word]() : import('./cli.ts'));

function isProgram(name: string): name is keyof typeof PROGRAMS {
  return Object.hasOwn(PROGRAMS, name);
}
