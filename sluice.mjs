#!/usr/bin/env node
// `sluice`, as npm installs it: hands the command line to the Bun that came with it. Plain JavaScript, because nothing but Node may be here.
import { readFileSync } from 'node:fs';
import * as os from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LaunchError, run, stopping, unpackedBun, watchSignals } from './processes.mjs';

const ROOT = dirname(fileURLToPath(import.meta.url));

/** The folders in which npm may have put what this package needs, the nearest first. */
function* moduleFolders() {
  for (let folder = ROOT; ; folder = dirname(folder)) {
    yield join(folder, 'node_modules');
    if (folder === dirname(folder)) return;
  }
}

async function findBun() {
  if (process.versions.bun !== undefined) return process.execPath;
  if (Number.parseInt(process.versions.node, 10) < 20) {
    throw new LaunchError(`Sluice needs Node 20 or later (this is ${process.version}), or Bun 1.4 or later.`);
  }
  const wanted = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).dependencies.bun;
  for (const folder of moduleFolders()) {
    const bun = await unpackedBun(folder, wanted);
    if (bun !== null) return bun;
  }
  throw new LaunchError(
    `Bun ${wanted} is missing. Install Sluice again with its optional dependencies: npm install --include=optional sluice`,
  );
}

try {
  watchSignals();
  // In the folder of whoever types it, without the settings of Bun that lie there.
  const program = [`--config=${join(ROOT, 'bunfig.toml')}`, join(ROOT, 'server', 'sluice.ts')];
  const { code, output } = await run(await findBun(), [...program, ...process.argv.slice(2)], { foreground: true });
  if (output) throw new LaunchError('Bun could not be started.', output);
  process.exitCode = code;
} catch (error) {
  if (!(error instanceof LaunchError)) throw error;
  process.stderr.write(`${error.output.trim() ? `${error.output.trim()}\n\n` : ''}${error.message}\n`);
  process.exitCode = stopping === null ? 1 : 128 + os.constants.signals[stopping.signal];
}
