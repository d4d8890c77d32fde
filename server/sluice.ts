import { resolve } from 'node:path';
import { firstTry, processEnvironment, serverAlone } from '#core/process/env.ts';
import { isProgramWord } from './cli/programs.ts';

/**
 * `sluice <word> …`: becomes the program that the word names, or runs a command. The entry of the npm package and of the compiled file,
 * which holds every program.
 */
const STARTS = {
  server() {
    serverAlone();
    return import('./main.ts');
  },
  host: () => import('#mcp-host/main.ts'),
  agent: () => import('#agent/main.ts'),
  stdio: () => import('#mcp-host/stdio.ts'),
  start() {
    firstTry();
    process.stdout.write(
      `Data folder: ${resolve(processEnvironment()['SVC_DATA_DIR'] || './data')} (set SVC_DATA_DIR to change it)\n`,
    );
    return import('./main.ts');
  },
} as const;

/** What programs start for themselves (`core/process/product.ts`); the command line does not name them. */
const CHILDREN: Readonly<Record<string, () => Promise<unknown>>> = {
  'sqlite-child': () => import('#core/engines/sqlite/child.ts'),
  'duckdb-child': () => import('#core/engines/duckdb/child.ts'),
  'project-child': () => import('#core/deploy/generated-child.ts'),
};

const [word = 'start', ...rest] = process.argv.slice(2);
if (Object.hasOwn(CHILDREN, word)) await CHILDREN[word]?.();
else if (isProgramWord(word, rest)) {
  // A program reads what follows its name.
  process.argv.splice(2, 1);
  await STARTS[word]();
} else await import('./cli.ts');
