import { resolve } from 'node:path';
import { createLog, toStream } from '#core/process/log.ts';
import { firstTry, processEnvironment, serverAlone } from '#core/process/env.ts';
import { isProgramWord } from './cli/programs.ts';

/**
 * `sluice <word> …`: starts the program with that name, or runs a command. The entry of the npm package and of the compiled file,
 * which contains every program.
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
    const path = resolve(processEnvironment()['SVC_DATA_DIR'] || './data');
    if (process.stdout.isTTY) process.stdout.write(`Data folder: ${path} (set SVC_DATA_DIR to change it)\n`);
    else createLog('INFO', toStream(process.stdout)).info('data folder', { path });
    return import('./main.ts');
  },
} as const;

/** Programs that other programs start (`core/process/product.ts`); the command line does not list them. */
const CHILDREN: Readonly<Record<string, () => Promise<unknown>>> = {
  'server-child': () => import('./run-server.ts'),
  'sqlite-child': () => import('#core/engines/sqlite/child.ts'),
  'duckdb-child': () => import('#core/engines/duckdb/child.ts'),
  'project-child': () => import('#core/deploy/generated-child.ts'),
};

const [word = 'start', ...rest] = process.argv.slice(2);
if (Object.hasOwn(CHILDREN, word)) await CHILDREN[word]?.();
else if (isProgramWord(word, rest)) {
  // Programs read the arguments after their name.
  process.argv.splice(2, 1);
  await STARTS[word]();
} else await import('./cli.ts');
