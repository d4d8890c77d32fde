import { afterAll } from 'bun:test';
import { appendFileSync, readFileSync } from 'node:fs';
import { atEnd } from './at-end.ts';

/** Loaded into each test process before its first file (`bunfig.toml`). */
const marks = process.env['TEST_MARKS'];

/** Where the runner reads what each file of a process cost: the file, and the milliseconds and processor milliseconds so far. */
function mark(file: string): void {
  if (marks !== undefined) appendFileSync(marks, `${file}\t${performance.now()}\t${processorMs()}\n`);
}

/** Processor time of this process, and of the children that it started and waited for where the system tells (Linux). */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const TICK_MS = 10;
    return (user + system) / 1000 + (Number(fields[13]) + Number(fields[14])) * TICK_MS;
  } catch {
    return (user + system) / 1000;
  }
}

if (marks !== undefined) {
  Bun.plugin({
    name: 'marks',
    setup(build) {
      // A file is loaded when the one before it has ended.
      build.onLoad({ filter: /\.test\.tsx?$/ }, async ({ path }) => {
        mark(path);
        return { contents: await Bun.file(path).text(), loader: path.endsWith('x') ? 'tsx' : 'ts' };
      });
    },
  });
}

// A hook of a preloaded file runs after the last file of the process, one of any other module after the file that imports it first.
afterAll(async () => {
  // What is shared until here is no cost of the last file.
  mark('');
  for (const end of atEnd) await end();
});
