import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitAfterOutput } from '#core/process/exit.ts';
import { reachable } from '#test/support/databases.ts';
import { startPostgres18 } from '#test/support/postgres-18.ts';
import { type Batch, type Run, titleOf, toBatches } from './batches.ts';
import { changedPaths, touchedBy } from './changed.ts';
import { inParallel } from './lanes.ts';
import { isIn, isLong, ON_POSTGRES_18, ROOT } from './layers.ts';
import { type Arguments, parseArguments } from './arguments.ts';
import { allTestFiles, migratedDatabase, planned } from './plan.ts';
import { run } from './process.ts';
import { type Report, runBatch } from './run-batch.ts';
import { print, say, summarise } from './summary.ts';
import { noteUnsteady } from './unsteady.ts';

/** What `npm test` runs once everything is installed: the build, the checks, then the test files of a layer in a few processes. */

/** More files than this that fail are no matter of time. */
const FEW = 10;
const CHECKS = [
  { title: 'oxfmt --check', program: ['oxfmt', 'oxfmt'], args: ['--check', '.'] },
  { title: 'oxlint --type-aware', program: ['oxlint', 'oxlint'], args: ['--type-aware'] },
  { title: 'tsc --noEmit', program: ['typescript', 'tsc'], args: ['--noEmit'] },
] as const;
/** A full run, which is to pass on any machine, leaves the processors room. */
const SPARE_LANES = { daily: 2, full: 1 } as const;
const COSTS = join(import.meta.dir, 'costs.json');

const NOTHING_RAN: Report = {
  title: '',
  seconds: 0,
  processor_seconds: 0,
  output: '',
  passed: 0,
  failed: ['no test ran: no test file matches'],
  skipped: [],
};

/** @returns the exit code. */
async function runAll(args: Arguments): Promise<number> {
  const since = performance.now();
  const files = testFiles(args);
  const { runs, left_out } = planned(files, args.layer);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  const newest = runs.some(({ variant }) => variant === ON_POSTGRES_18) ? await startPostgres18() : null;
  const migrated = reachable.postgres && files.some((file) => file.startsWith('test/server/')) ? await migratedDatabase() : null;
  const environment = {
    TEST_LAYER: args.layer,
    ...(migrated === null ? {} : { TEST_METADATA_TEMPLATE: migrated.settings.database }),
  };
  const inEnvironment = (run: Run): Run =>
    run.variant === ON_POSTGRES_18
      ? { ...run, environment: { ...run.environment, TEST_POSTGRES_PORT: String(newest?.port), TEST_METADATA_TEMPLATE: '' } }
      : run;
  const possible = runs.filter(({ variant }) => variant !== ON_POSTGRES_18 || newest !== null).map(inEnvironment);
  if (possible.length < runs.length) left_out.push('PostgreSQL 18: bun install --frozen-lockfile --cwd test/servers');
  const job = (batch: Pick<Batch, 'runs' | 'waits'>) => ({
    run: (lane: number) =>
      runBatch(batch, { flags: args.flags, folder, environment: { ...environment, TEST_LANE: String(lane) } }),
    waits: batch.waits,
  });
  const checks = args.filters.length > 0 || args.since !== null ? [] : CHECKS.map((check) => ({ run: () => runCheck(check) }));
  // The checks read sources only, so they run beside the build of the pages that tests open.
  const checked = await inParallel([{ run: buildUi }, ...checks], print, 1);
  const tested = await inParallel(toBatches(possible, recordedCosts()).map(job), print, SPARE_LANES[args.layer]);
  const reports = await again(tested, (run) => job({ runs: [run], waits: false }).run(0));
  await rm(folder, { recursive: true, force: true });
  await newest?.stop();
  await migrated?.drop();
  const unsteady = reports.filter(({ unsteady }) => (unsteady ?? []).length > 0).map(({ title }) => title);
  const ran = reports.some((report) => report.passed + report.failed.length + report.skipped.length > 0);
  if (process.env['UPDATE_COSTS'] === '1') recordCosts(reports);
  return summarise({
    reports: ran ? [...checked, ...reports] : [...checked, NOTHING_RAN],
    left_out,
    unsteady_again: noteUnsteady(unsteady).again,
    seconds: (performance.now() - since) / 1000,
  });
}

/** The test files whose path holds one of the filters, or that a change touches. */
function testFiles({ filters, since }: Arguments): string[] {
  const wanted = filters.map((filter) => filter.replace(/^\.\//, ''));
  const touched = since === null ? null : touchedBy(changedPaths(since));
  const isTouched = (path: string) =>
    touched === null || /^test\/[^/]+$/.test(path) || isIn(path, touched) || touched.includes('');
  const isNamed = (path: string) => wanted.some((filter) => filter.startsWith(path.slice(0, path.lastIndexOf('/'))));
  return allTestFiles()
    .filter((path) => wanted.length === 0 || wanted.some((filter) => path.includes(filter)))
    .filter((path) => isTouched(path) && (!isLong(path) || isNamed(path)));
}

async function buildUi(): Promise<Report[]> {
  return [toReport('vite build ui', await run(['launch.mjs', 'build']))];
}

async function runCheck({ title, program, args }: (typeof CHECKS)[number]): Promise<Report[]> {
  const [directory, name] = program;
  const manifest: { bin: string | Record<string, string> } = await Bun.file(
    join(ROOT, 'node_modules', directory, 'package.json'),
  ).json();
  const script = typeof manifest.bin === 'string' ? manifest.bin : (manifest.bin[name] ?? '');
  return [toReport(title, await run([join('node_modules', directory, script), ...args]))];
}

function toReport(title: string, { code, output, seconds, processor_seconds }: Awaited<ReturnType<typeof run>>): Report {
  const passed = code === 0;
  return { title, seconds, processor_seconds, output, passed: Number(passed), failed: passed ? [] : [title], skipped: [] };
}

/**
 * A few files that failed run once more, one by one on a machine with nothing else to do: what then passes was a matter of
 * time and is named as unsteady. What fails again has failed.
 */
async function again(reports: readonly Report[], runAlone: (run: Run) => Promise<readonly Report[]>): Promise<Report[]> {
  const failing = reports.filter((report) => report.failed.length > 0);
  if (failing.length === 0 || failing.length > FEW) return [...reports];
  say('\nOnce more, one by one:');
  const result: Report[] = [];
  for (const report of reports) {
    const [second] = report.failed.length > 0 && report.run !== undefined ? await runAlone(report.run) : [];
    if (second !== undefined) print(second);
    const unsteady = second?.failed.length === 0 ? report.failed : [];
    const processor_seconds = report.processor_seconds + (second?.processor_seconds ?? 0);
    result.push(second === undefined ? report : { ...second, processor_seconds, unsteady });
  }
  return result;
}

/** Processor seconds of each file, as a full run with `UPDATE_COSTS=1` found them. */
function recordedCosts(): Readonly<Record<string, number>> {
  return JSON.parse(readFileSync(COSTS, 'utf8'));
}

function recordCosts(reports: readonly Report[]): void {
  const measured = reports.flatMap((report) =>
    report.run === undefined ? [] : ([[titleOf(report.run), report.processor_seconds]] as const),
  );
  const costs = { ...recordedCosts(), ...Object.fromEntries(measured) };
  const entries = Object.entries(costs).toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(
    COSTS,
    `${JSON.stringify(Object.fromEntries(entries.map(([title, cost]) => [title, Math.round(cost * 10) / 10])), null, 2)}\n`,
  );
}

// The launcher holds the other end of this channel: when it is gone nobody reads our result. `--no-orphans` ends what we started.
process.on('disconnect', () => process.exit(1));
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(143));
const code = await runAll(parseArguments(process.argv.slice(2), process.env));
await exitAfterOutput(code);
