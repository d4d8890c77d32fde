import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Batch, type Run, titleOf } from './batches.ts';
import { type Case, parseJunit } from './junit.ts';
import { ROOT } from './layers.ts';
import { type Ended, run as runProgram } from './process.ts';

/** What one check, or one test file in one environment, came to. */
export interface Report {
  readonly title: string;
  readonly seconds: number;
  readonly processor_seconds: number;
  readonly output: string;
  readonly passed: number;
  /** Names of what failed and of what was skipped. */
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** Names of what failed at first and passed when run alone. */
  readonly unsteady?: readonly string[];
  /** To run it alone. */
  readonly run?: Run;
}

const TEST_MS = 60_000;
const BATCH_MS = 900_000;

export interface BatchOptions {
  /** Options of `bun test`. */
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Where reports are written. */
  readonly folder: string;
}

let batches = 0;

/** Runs the files of a batch in one process; when that process falls, each file in one of its own. */
export async function runBatch({ runs }: Pick<Batch, 'runs'>, options: BatchOptions): Promise<Report[]> {
  const report_path = join(options.folder, `${batches++}.xml`);
  const marks_path = `${report_path}.marks`;
  const flags = [
    '--no-orphans',
    `--timeout=${TEST_MS}`,
    '--reporter=junit',
    `--reporter-outfile=${report_path}`,
    ...options.flags,
  ];
  const files = runs.map(({ file }) => `./${file}`);
  const environment = { ...options.environment, ...runs[0].environment, TEST_MARKS: marks_path };
  const ended = await runProgram(['test', ...flags, ...files], environment, BATCH_MS);
  if (!existsSync(report_path) && runs.length > 1) {
    const alone: Report[] = [];
    for (const run of runs) alone.push(...(await runBatch({ runs: [run] }, options)));
    return alone;
  }
  const cases = existsSync(report_path) ? parseJunit(readFileSync(report_path, 'utf8')) : new Map<string, Case[]>();
  const costs = readMarks(marks_path, ended);
  const sections = sectionsOf(ended.output, runs);
  const reports = runs.map((run) =>
    toReport(run, {
      cases: cases.get(run.file) ?? [],
      output: runs.length === 1 ? ended.output : (sections.get(run.file) ?? ''),
      cost: costs.get(run.file) ?? { seconds: 0, processor_seconds: 0 },
      may_be_empty: options.flags.length > 0,
    }),
  );
  return explained(reports, ended);
}

interface Found {
  readonly cases: readonly Case[];
  readonly output: string;
  readonly cost: Cost;
  /** The options may leave a file without a test. */
  readonly may_be_empty: boolean;
}

function toReport(run: Run, { cases, output, cost, may_be_empty }: Found): Report {
  const title = titleOf(run);
  const names = (status: Case['status']) =>
    cases.filter((item) => item.status === status).map((item) => `${title} › ${item.name}`);
  const failed = names('failed');
  if (cases.length === 0 && !may_be_empty) failed.push(`${title} › reported no test`);
  return { title, ...cost, output, passed: names('passed').length, failed, skipped: names('skipped'), run };
}

/** A process that ended badly has a report that says so: the one in whose output an error stands, else the last one. */
function explained(reports: readonly Report[], ended: Ended): Report[] {
  if (ended.code === 0 || reports.some(({ failed }) => failed.length > 0)) return [...reports];
  const found = reports.findLastIndex(({ output }) => /^error: |Unhandled error/m.test(output));
  const guilty = found < 0 ? reports.length - 1 : found;
  const why = ended.late ? `did not end within ${BATCH_MS / 1000} s` : `ended with code ${ended.code}`;
  return reports.map((report, index) =>
    index === guilty ? { ...report, output: ended.output, failed: [`${report.title} › ${why}`] } : report,
  );
}

interface Cost {
  readonly seconds: number;
  readonly processor_seconds: number;
}

/**
 * What each file cost, by the marks of `test/support/preload.ts`; the first one bears the start of the process, the last one its end.
 * What only the end of the process shows, such as a browser that its files shared, is shared out by their wall time.
 */
function readMarks(path: string, ended: Ended): Map<string, Cost> {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  const marks = lines.map((line) => {
    const [file = '', ms, processor_ms] = line.split('\t');
    return { file: relative(ROOT, file), seconds: Number(ms) / 1000, processor_seconds: Number(processor_ms) / 1000 };
  });
  const last = marks.at(-1) ?? ended;
  const costs = marks
    .filter(({ file }) => file.startsWith('test/'))
    .map((mark, index, kept) => {
      const begin = index === 0 ? { seconds: 0, processor_seconds: 0 } : mark;
      const end = kept[index + 1] ?? last;
      const seconds = end.seconds - begin.seconds;
      return { file: mark.file, seconds, processor_seconds: end.processor_seconds - begin.processor_seconds };
    });
  const rest = ended.processor_seconds - costs.reduce((sum, { processor_seconds }) => sum + processor_seconds, 0);
  const wall = costs.reduce((sum, { seconds }) => sum + seconds, 0);
  return new Map(
    costs.map(({ file, seconds, processor_seconds }) => {
      const share = wall === 0 ? 0 : (rest * seconds) / wall;
      return [file, { seconds, processor_seconds: Math.max(0, processor_seconds + share) }];
    }),
  );
}

/** The part of the output that belongs to each file: `bun test` writes its name, with a colon, on a line before it. */
function sectionsOf(output: string, runs: readonly Run[]): Map<string, string> {
  const names = new Set(runs.map(({ file }) => file));
  const sections = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of output.split('\n')) {
    const name = line.endsWith(':') ? line.slice(0, -1) : '';
    if (names.has(name)) {
      lines = [];
      sections.set(name, lines);
    }
    lines.push(line);
  }
  return new Map([...sections].map(([name, section]) => [name, section.join('\n')]));
}
