import { heapStats } from 'bun:jsc';
import { renameSync, writeFileSync } from 'node:fs';

/**
 * Loaded before a program that is to say how much of its memory is alive: it answers SIGUSR2 with a file of
 * `SLUICE_BENCH_HEAP_FOLDER`, named after the process, that holds the MiB left after full collections. It imports nothing else,
 * because that would be measured with the program.
 */
const folder = process.env['SLUICE_BENCH_HEAP_FOLDER'];
if (folder !== undefined) process.on('SIGUSR2', () => void answer(folder));

async function answer(within: string): Promise<void> {
  // What a finalizer lets go of is collected the next time.
  for (let n = 0; n < 3; n++) {
    Bun.gc(true);
    await Bun.sleep(20);
  }
  const file = `${within}/${process.pid}`;
  writeFileSync(`${file}.new`, (heapStats().heapSize / 2 ** 20).toFixed(2));
  renameSync(`${file}.new`, file);
}
