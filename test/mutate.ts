import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { migratedDatabase } from '#test/runner/plan.ts';
import { createRandom, seed } from '#test/support/chance.ts';
import { reachable } from '#test/support/databases.ts';
import { startPostgres18 } from '#test/support/postgres-18.ts';
import { undoFixes } from './mutate/fixes.ts';
import { describeFixes, describeSample } from './mutate/report.ts';
import { AREAS, probed, sampleMutants } from './mutate/sample.ts';
import { createTrees, removeTrees } from './mutate/trees.ts';
import { stopAll } from './mutate/trial.ts';
import { createTrials } from './mutate/trials.ts';
import { openTypes } from './mutate/types.ts';
import { tryChanges } from './mutate/verdicts.ts';

/**
 * Whether the tests notice mistakes: small changes of the product by chance, or the newest fixes undone one by one. The tests that
 * the daily layer has for a change try it, then those that only the full layer has. Works in copies of the tree.
 */
const { values } = parseArgs({
  options: {
    mutants: { type: 'string', default: '150' },
    /** Of `AREAS`, with commas; without it all of them. */
    areas: { type: 'string', default: '' },
    /** How many fixes to undo, instead of mutants. */
    fixes: { type: 'string' },
    /** Of the processor, for the tests of one change in one layer; the remaining ones are not tried. */
    seconds: { type: 'string', default: '40' },
    workers: { type: 'string', default: String(Math.min(4, availableParallelism())) },
  },
});

/** What ends with the program, however it ends. */
const endings: (() => Promise<void>)[] = [async () => removeTrees()];

async function main(): Promise<void> {
  const areas = values.areas.split(',').filter(Boolean);
  const unknown = areas.filter((name) => AREAS.every((area) => area.name !== name));
  if (unknown.length > 0)
    throw new Error(`Unknown: ${unknown.join(', ')}. Areas are ${AREAS.map(({ name }) => name).join(', ')}.`);
  const since = performance.now();
  const random = createRandom();
  const trees = createTrees(Number(values.workers));
  const types = await openTypes();
  const [first] = trees;
  if (first === undefined) throw new Error('There has to be at least one worker.');
  const fixes = values.fixes === undefined ? null : await undoFixes(Number(values.fixes), first, types);
  const mutants = fixes === null ? await sampleMutants(random, types, Number(values.mutants), areas) : [];
  await types.close();
  const newest = await startPostgres18();
  if (newest !== null) endings.push(() => newest.stop());
  const migrated = reachable.postgres ? await migratedDatabase() : null;
  if (migrated !== null) endings.push(() => migrated.drop());
  const environment = {
    TEST_SEED: String(seed),
    ...(migrated === null ? {} : { TEST_METADATA_TEMPLATE: migrated.settings.database }),
  };
  const trials = createTrials(trees, environment, Number(values.seconds));
  const context = { trials, newest_port: newest?.port ?? null, say };
  const lines =
    fixes === null
      ? describeSample(await tryChanges(context, mutants, probed))
      : describeFixes(await tryChanges(context, fixes, null));
  say(`\n${lines.join('\n')}`);
  const broken = trials.broken();
  if (broken.length > 0) say(`\nFailed without a change, and do not count:\n${broken.map((title) => `  ${title}`).join('\n')}`);
  const minutes = (performance.now() - since) / 60_000;
  say(`\nSeed ${seed}; ${trials.processorSeconds().toFixed(0)} s of the processor, ${minutes.toFixed(1)} min.`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function leave(): Promise<void> {
  stopAll();
  await Promise.allSettled(endings.splice(0).map((end) => end()));
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void leave().finally(() => process.exit(130)));
try {
  await main();
} finally {
  await leave();
}
process.exit(0);
