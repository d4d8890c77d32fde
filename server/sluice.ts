import { resolve } from 'node:path';
import { firstTry, processEnvironment, serverAlone } from '#core/env.ts';
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
  host: () => import('../mcp-host/main.ts'),
  agent: () => import('../agent/main.ts'),
  stdio: () => import('../mcp-host/stdio.ts'),
  start() {
    firstTry();
    process.stdout.write(
      `Data folder: ${resolve(processEnvironment()['SVC_DATA_DIR'] || './data')} (set SVC_DATA_DIR to change it)\n`,
    );
    return import('./main.ts');
  },
} as const;

const [word = 'start', ...rest] = process.argv.slice(2);
if (word === 'sqlite-child') await import('#core/engines/sqlite/child.ts');
else if (word === 'duckdb-child') await import('#core/engines/duckdb/child.ts');
else if (word === 'project-child') await import('#core/deploy/generated-child.ts');
else if (isProgramWord(word, rest)) {
  // A program reads what follows its name.
  process.argv.splice(2, 1);
  await STARTS[word]();
} else await import('./cli.ts');
