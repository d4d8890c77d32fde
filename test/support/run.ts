import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { reachable, type TestDatabase, testDatabase } from './databases.ts';
import { startPostgres18 } from './postgres-18.ts';

/** What `npm test` runs once everything is installed: the checks, then every test file in a process of its own. */
interface Report {
  readonly title: string;
  readonly seconds: number;
  readonly output: string;
  readonly passed: number;
  /** Names of what failed and of what was skipped. */
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** Names of what failed at first and passed when run alone. */
  readonly unsteady?: readonly string[];
}

type Environment = Readonly<Record<string, string>>;

interface Case {
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'skipped';
}

const ROOT = join(import.meta.dir, '../..');
const TEST_MS = 60_000;
const FILE_MS = 600_000;
/** More files than this that fail are no matter of time. */
const FEW = 10;
/** Run only when a filter names them: they take minutes. */
const LONG = ['test/bench/'];
/** They wait for a clock or another program more than they work, so they run beside those that work. */
const WAITING = [
  'call/confirmation-pages',
  'cluster/redis.test',
  'deploy/canary-servers',
  'deploy/deploy-hosts',
  'deploy/drift-servers',
  'duckdb/process',
  'e2e/first-run',
  'e2e/ui-still',
  'faults/network',
  'faults/stores',
  'idle.test',
  'leases',
  'limits/shared-limits',
  'listener-waiting',
  'mysql/hostile',
  'oauth/hosts',
  'observe/notices.test',
  'observe/tracing',
  'postgresql/hostile',
  'replay/two-servers',
  'sign-in-limits',
  'signed/foreign',
  'sqlite/process',
  'store/metadata-store',
  'tls/dns',
  'tls/issue',
  'identity/hostile-provider',
];
const CHECKS = [
  { title: 'oxfmt --check', program: ['oxfmt', 'oxfmt'], args: ['--check', '.'] },
  { title: 'oxlint --type-aware', program: ['oxlint', 'oxlint'], args: ['--type-aware'] },
  { title: 'tsc --noEmit', program: ['typescript', 'tsc'], args: ['--noEmit'] },
] as const;

/** Tests of the whole server run a second time with the metadata in PostgreSQL; these look at the embedded file itself. */
const EMBEDDED_ONLY = ['attacks.test', 'canary', 'cli', 'fuzz', 'no-writes', 'two-factor'];

/** Every test of these names its store, so a second run would have none. */
const STORES_NAMED = [
  'drift-servers',
  'hosts/list-revisions',
  'logged-arguments',
  'lost-commit',
  'observe/metrics.test',
  'observe/retention',
  'notice-events',
  'search.test',
  'two-servers',
  'usage-storing',
];

/** What these refuse does not reach the store. */
const BEFORE_THE_STORE = ['identity/hostile-provider', 'tls/rules'];
const ONCE = [...EMBEDDED_ONLY, ...STORES_NAMED, ...BEFORE_THE_STORE];

/** They prove the protocol, auth, queue, swap, SQLite and the limits of HTTP on Deno too. */
const ON_DENO = [
  'test/mcp-host/program.test',
  'auth/auth-bearer.test',
  'auth/auth-oauth.test',
  'call/calls.test',
  'call/databases.test',
  'protocol/protocol.test',
  'protocol/sessions.test',
  'protocol/subscriptions.test',
  'swap/lifecycle.test',
  'transports/listener.test',
  'transports/listener-idle.test',
  'transports/sse.test',
  'transports/stdio.test',
];

/** These run a second time on the newest PostgreSQL: the driver, its attacks, its catalogue and the metadata. */
const ON_POSTGRES_18 = [
  'test/core/engines/postgresql/',
  'test/core/store/',
  'test/core/lib/postgres/',
  'test/core/lib/sql/bind-databases',
  'test/core/lib/sql/caller-policies',
  'test/core/lib/sql/rules',
];

/** Of those, these start a server of their own, or what stands between us and the server is what they try. */
const NOT_ON_POSTGRES_18 = ['postgresql/tls', 'postgresql/hostile', 'store/metadata-store'];

const NOTHING_RAN: Report = {
  title: '',
  seconds: 0,
  output: '',
  passed: 0,
  failed: ['no test ran: no test file matches'],
  skipped: [],
};

/** Runs the checks (without a filter) and the test files whose path holds one of the filters; answers with the exit code. */
async function runAll(args: readonly string[]): Promise<number> {
  const options_at = args.findIndex((arg) => arg.startsWith('-'));
  const filters = options_at < 0 ? args : args.slice(0, options_at);
  const options = options_at < 0 ? [] : args.slice(options_at);
  const reports = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  const checks = args.length > 0 ? [] : CHECKS.map((check) => ({ run: () => runCheck(check) }));
  const found = testFiles(filters);
  const newest = found.some(onPostgres18) ? await startPostgres18() : null;
  const migrated = found.some(onBothStores) ? await migratedDatabase() : null;
  const metadata = migrated === null ? {} : { TEST_METADATA_TEMPLATE: migrated.settings.database };
  const runs = [
    ...found.map((file) => ({ file, variant: '', environment: metadata })),
    ...found
      .filter(onBothStores)
      .map((file) => ({ file, variant: ' (metadata in PostgreSQL)', environment: { ...metadata, TEST_METADATA: 'postgresql' } })),
    ...(newest === null ? [] : found.filter(onPostgres18)).map((file) => ({
      file,
      variant: ' (PostgreSQL 18)',
      environment: { TEST_POSTGRES_PORT: String(newest?.port), TEST_METADATA: '' },
    })),
    ...found.filter(onDeno).map((file) => ({ file, variant: ' (host on Deno)', environment: { TEST_HOST: 'deno' } })),
  ];
  const files = runs.map(({ file, variant, environment }, index) => ({
    run: (lane: number) =>
      runFile(file, `${file}${variant}`, options, join(reports, `${index}.xml`), { ...environment, TEST_LANE: String(lane) }),
    waits: waits(file),
  }));
  // The pages that tests open; the other checks read sources, so tests that wait can run beside them.
  const built = await inParallel([{ run: buildUi }]);
  const done = await inParallel([...checks, ...files]);
  const checked = [...built, ...done.slice(0, checks.length)];
  const tested = await again(done.slice(checks.length), files);
  await rm(reports, { recursive: true, force: true });
  await newest?.stop();
  await migrated?.drop();
  const ran = tested.some((report) => report.passed + report.failed.length + report.skipped.length > 0);
  return summary(ran ? [...checked, ...tested] : [...checked, NOTHING_RAN]);
}

/** What the metadata databases of the tests are copies of: the migrations run once. */
async function migratedDatabase(): Promise<TestDatabase> {
  const { openStore } = await import('#core/store/open.ts');
  const database = await testDatabase('postgresql');
  await (await openStore(database.url)).close();
  return database;
}

/** Without a PostgreSQL server the tests that name it are skipped, or fail in CI; there is no need to say so twice. */
function onBothStores(file: string): boolean {
  if (!reachable.postgres || !file.startsWith('test/server/') || ONCE.some((name) => file.includes(name))) return false;
  return readFileSync(join(ROOT, file), 'utf8').includes('testApp(');
}

const onPostgres18 = (file: string): boolean =>
  ON_POSTGRES_18.some((name) => file.includes(name)) && !NOT_ON_POSTGRES_18.some((name) => file.includes(name));

const onDeno = (file: string): boolean => file.startsWith('test/mcp-host/') && ON_DENO.some((name) => file.includes(name));

async function run(
  command: readonly string[],
  environment: Environment = {},
): Promise<{ code: number; output: string; seconds: number; late: boolean }> {
  const since = performance.now();
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let late = false;
  const limit = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, FILE_MS);
  const reading = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const code = await child.exited;
  clearTimeout(limit);
  // A process that a test left behind can hold the pipes open.
  const texts = await Promise.race([
    reading,
    Bun.sleep(2_000).then(() => ['', 'Its output is held open by a process it left behind.']),
  ]);
  return { code, output: texts.join('').trimEnd(), seconds: (performance.now() - since) / 1000, late };
}

async function buildUi(): Promise<Report> {
  const title = 'vite build ui';
  const { code, output, seconds } = await run(['launch.mjs', 'build']);
  return { title, seconds, output, passed: code === 0 ? 1 : 0, failed: code === 0 ? [] : [title], skipped: [] };
}

async function runCheck({ title, program, args }: (typeof CHECKS)[number]): Promise<Report> {
  const [directory, name] = program;
  const manifest: { bin: string | Record<string, string> } = await Bun.file(
    join(ROOT, 'node_modules', directory, 'package.json'),
  ).json();
  const script = typeof manifest.bin === 'string' ? manifest.bin : (manifest.bin[name] ?? '');
  const { code, output, seconds } = await run([join('node_modules', directory, script), ...args]);
  return { title, seconds, output, passed: code === 0 ? 1 : 0, failed: code === 0 ? [] : [title], skipped: [] };
}

/** Tests in a browser come first: they take longest. */
function testFiles(filters: readonly string[]): string[] {
  const wanted = filters.map((filter) => filter.replace(/^\.\//, ''));
  const named = (folder: string) => wanted.some((filter) => filter.startsWith(folder.slice(0, -1)));
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .map((path) => `test/${path.replaceAll('\\', '/')}`)
    .filter(
      (path) =>
        /\.test\.tsx?$/.test(path) &&
        !path.includes('/node_modules/') &&
        (wanted.length === 0 || wanted.some((filter) => path.includes(filter))),
    )
    .filter((path) => LONG.every((folder) => !path.startsWith(folder) || named(folder)))
    .toSorted((a, b) => Number(b.startsWith('test/e2e/')) - Number(a.startsWith('test/e2e/')) || (a < b ? -1 : 1));
}

const waits = (file: string): boolean => WAITING.some((name) => file.includes(name));

async function runFile(
  file: string,
  title: string,
  options: readonly string[],
  report_path: string,
  environment: Environment,
): Promise<Report> {
  const flags = ['--no-orphans', `--timeout=${TEST_MS}`, '--reporter=junit', `--reporter-outfile=${report_path}`, ...options];
  const { code, output, seconds, late } = await run(['test', ...flags, `./${file}`], environment);
  const report = Bun.file(report_path);
  const cases = (await report.exists()) ? parseJunit(await report.text()) : [];
  const named = (status: Case['status']) =>
    cases.filter((item) => item.status === status).map((item) => `${title} › ${item.name}`);
  const failed = named('failed');
  const none_wanted = options.length > 0 && cases.length === 0 && /matched 0 tests/.test(output);
  if (late) failed.push(`${title} › did not end within ${FILE_MS / 1000} s`);
  else if (code !== 0 && failed.length === 0 && !none_wanted) failed.push(`${title} › ended with code ${code}`);
  else if (cases.length === 0 && !none_wanted) failed.push(`${title} › reported no test`);
  return { title, seconds, output, passed: named('passed').length, failed, skipped: named('skipped') };
}

/** The test cases of a JUnit report as Bun writes it. */
function parseJunit(xml: string): Case[] {
  return [...xml.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map(([, attributes = '', body = '']) => {
    const name = [attribute(attributes, 'classname'), attribute(attributes, 'name')].filter(Boolean).join(' › ');
    if (/<(failure|error)\b/.test(body)) return { name, status: 'failed' };
    return { name, status: /<skipped\b/.test(body) ? 'skipped' : 'passed' };
  });
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
  return value.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code?: string, entity?: string) =>
    code === undefined ? (ENTITIES[entity ?? ''] ?? whole) : String.fromCodePoint(Number(code)),
  );
}

interface Job {
  /** @param lane differs from that of every other job that runs at the same time. */
  readonly run: (lane: number) => Promise<Report>;
  /** It leaves the processors to the others. */
  readonly waits?: boolean;
}

/**
 * Runs as many jobs at a time as there are processors, and beside them two that wait. When none that waits is left, one of those two
 * lanes takes what the others take, and the second one ends. Prints each report as it comes, with its output when something failed,
 * and answers in the order of the jobs.
 */
async function inParallel(jobs: readonly Job[]): Promise<Report[]> {
  const queue = [...jobs.entries()];
  const reports: Report[] = [];
  const next = (prefers: boolean, only: boolean) => {
    const at = queue.findIndex(([, job]) => (job.waits ?? false) === prefers);
    return at < 0 && only ? undefined : queue.splice(Math.max(0, at), 1)[0];
  };
  const worker = async (lane: number, prefers: boolean, only = false) => {
    for (let taken = next(prefers, only); taken !== undefined; taken = next(prefers, only)) {
      const [index, job] = taken;
      const report = await job.run(lane);
      reports[index] = report;
      print(report);
    }
  };
  const processors = Math.min(4, availableParallelism());
  const working = Array.from({ length: processors }, (_, n) => worker(n + 1, false));
  await Promise.all([...working, worker(0, true), worker(processors + 1, true, true)]);
  return reports;
}

/**
 * A few files that failed run once more, one by one on a machine with nothing else to do: what then passes was a matter of
 * time and is named as unsteady. What fails again has failed.
 */
async function again(reports: readonly Report[], jobs: readonly Job[]): Promise<Report[]> {
  const titles = reports.filter((report) => report.failed.length > 0).map((report) => report.title);
  if (titles.length === 0 || titles.length > FEW) return [...reports];
  say('\nOnce more, one by one:');
  const result = [...reports];
  for (const [index, report] of reports.entries()) {
    const job = jobs[index];
    if (report.failed.length === 0 || job === undefined) continue;
    const second = await job.run(0);
    print(second);
    result[index] = { ...second, unsteady: second.failed.length > 0 ? [] : report.failed };
  }
  return result;
}

function print({ title, seconds, output, passed, failed, skipped }: Report): void {
  if (failed.length > 0) say(`\n${output}\n`);
  const counts = [`${passed} passed`, failed.length && `${failed.length} failed`, skipped.length && `${skipped.length} skipped`];
  say(`${failed.length > 0 ? '✗' : '✓'} ${title}: ${counts.filter(Boolean).join(', ')} (${seconds.toFixed(1)} s)`);
}

function summary(reports: readonly Report[]): number {
  const required = ['1', 'true'].includes(process.env['CI'] ?? '');
  const passed = reports.reduce((sum, report) => sum + report.passed, 0);
  const skipped = reports.flatMap((report) => report.skipped);
  const failed = reports.flatMap((report) => report.failed);
  if (required) failed.push(...skipped.splice(0).map((name) => `${name} (skipped, which CI=true does not allow)`));
  const unsteady = reports.flatMap((report) => report.unsteady ?? []);
  if (unsteady.length > 0) say(`\nUnsteady (failed at first, passed alone):\n${unsteady.map((name) => `  ${name}`).join('\n')}`);
  if (skipped.length > 0) say(`\nSkipped:\n${skipped.map((name) => `  ${name}`).join('\n')}`);
  if (failed.length > 0) say(`\nFailed:\n${failed.map((name) => `  ${name}`).join('\n')}`);
  say(`\n${passed} passed, ${failed.length} failed, ${skipped.length} skipped`);
  return failed.length > 0 ? 1 : 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

// The launcher holds the other end of this channel: when it is gone nobody reads our result. `--no-orphans` ends what we started.
process.on('disconnect', () => process.exit(1));
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(143));
const code = await runAll(process.argv.slice(2));
process.stdout.write('', () => process.exit(code));
