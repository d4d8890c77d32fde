import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callTool, connectionOf, controlServer, keyring, parameterOf, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { toolsetOf } from '#test/mcp-host/toolsets/toolsets-support.ts';
import { testDatabase } from '#test/support/databases.ts';
import { until } from '#test/support/until.ts';
import { sharesMeter } from './machine.ts';

/**
 * `bun test/bench/downloads.ts [rows]`: a whole result leaves as a file while 16 callers go on. Says how fast it leaves, how much
 * memory the host takes for it, and how long calls take alone and beside it.
 */
const ROWS = Number(process.argv[2] ?? 2_000_000);
const CALLERS = 16;
/** Calls per second of each caller. */
const RATE = 10;
const ALONE_S = 15;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const folder = mkdtempSync(join(tmpdir(), 'sluice-downloads-'));
const control = controlServer();
const database = await testDatabase('postgresql');
await database.run(`create table orders as select n as id, md5(n::text) as code, md5((n * 7)::text) as customer, (n % 100000) / 100.0 as price,
  timestamptz '2026-01-01' + n * interval '1 second' as ordered_at, repeat('x', 40) as note from generate_series(1, ${ROWS}) n`);
await database.run('alter table orders add primary key (id)');
await database.run('analyze orders');

const url_path = join(folder, 'url');
writeFileSync(url_path, '');
const options = { directory: folder, control_url: control.url, clock_path: null, url_path, more: {} };
const child = Bun.spawn([process.execPath, join(import.meta.dir, '../mcp-host/host-program.ts'), JSON.stringify(options)], {
  stdio: ['ignore', 'inherit', 'inherit'],
  serialization: 'json',
  ipc: () => undefined,
});
child.send({ id: 1, ask: 'start' });
await until(() => control.ids.length > 0);

const { password, ...settings } = database.settings;
const draft = connectionOf({
  ...settings,
  name: 'db',
  ssl_key: null,
  ssh: null,
  password: null,
  pool_size: 8,
  max_concurrency: 8,
});
const sealed = password === null ? null : { $sealed: keyring.seal(password, `connection/${draft.id}/password`) };
const connection = { ...draft, password: sealed };
const by_id = 'select id, code, price from orders where id = :id';
const tools = [
  toolOf(connection, 'orders', 'select * from orders', { files: 'csv', max_rows: 10 }),
  toolOf(connection, 'order', by_id, { mode: 'fixed', parameters: [parameterOf('id', 'integer')] }),
];
const toolsets = [toolsetOf('all', { connection_ids: [connection.id] }, { files: true })];
await control.deploy(snapshotOf(1, { connections: [connection], tools, toolsets, server: { log_level: 'WARNING' } }));
await until(() => readFileSync(url_path, 'utf8') !== '');
const mcp = new URL('/mcp', readFileSync(url_path, 'utf8'));

const rss = (): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024;
const percentile = (sorted: readonly number[], part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN;

/** Calls of 16 callers until `work` ends, at a steady rate. @returns milliseconds of each, sorted. */
async function callWhile(work: Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  const state = { over: false };
  void work.finally(() => (state.over = true));
  const caller = async (n: number): Promise<void> => {
    await Bun.sleep((n * 1_000) / RATE / CALLERS);
    for (let next = performance.now(); !state.over; next += 1_000 / RATE) {
      await Bun.sleep(Math.max(0, next - performance.now()));
      const from = performance.now();
      const { status } = await callTool(mcp, 'order', { id: 1 + Math.floor(Math.random() * ROWS) });
      if (status !== 200) throw new Error(`A call was answered with ${status}.`);
      times.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, n) => caller(n)));
  return times.sort((a, b) => a - b);
}

async function download(): Promise<{ mb: number; seconds: number; most_mib: number; least_mib: number }> {
  const { body } = await callTool(mcp, 'orders');
  const file = (body.result?.['structuredContent'] as { file?: { url: string } } | undefined)?.file;
  if (file === undefined) throw new Error('The answer has no file.');
  const sizes: number[] = [];
  const sampling = setInterval(() => sizes.push(rss()), 100);
  const from = performance.now();
  const curl = Bun.spawn(['curl', '-s', '-o', '/dev/null', '-w', '%{size_download}', file.url], { stdout: 'pipe' });
  const size = Number(await new Response(curl.stdout).text());
  if ((await curl.exited) !== 0) throw new Error('The download was broken off.');
  clearInterval(sampling);
  return {
    mb: size / 1e6,
    seconds: (performance.now() - from) / 1_000,
    most_mib: Math.max(...sizes),
    least_mib: Math.min(...sizes),
  };
}

const line = (name: string, times: readonly number[]): string =>
  `${name}: ${times.length} calls, p50 ${percentile(times, 0.5).toFixed(1)} ms, p99 ${percentile(times, 0.99).toFixed(1)} ms`;
try {
  await callWhile(Bun.sleep(5_000));
  const shares = sharesMeter();
  const alone = await callWhile(Bun.sleep(ALONE_S * 1_000));
  const { busy, stolen } = shares();
  say(`machine ${(busy * 100).toFixed(0)} % busy during the calls alone, ${(stolen * 100).toFixed(0)} % taken by other machines`);
  say(line('alone', alone));
  const before = rss();
  const quiet = await download();
  say(
    `download without calls: ${quiet.mb.toFixed(0)} MB, ${(quiet.mb / quiet.seconds).toFixed(1)} MB/s, host ${before.toFixed(0)} MiB before, ${quiet.least_mib.toFixed(0)} to ${quiet.most_mib.toFixed(0)} MiB during`,
  );
  const before_second = rss();
  const running = download();
  const beside = await callWhile(running);
  const busy_one = await running;
  say(line('beside a download', beside));
  say(
    `download beside calls: ${busy_one.mb.toFixed(0)} MB, ${(busy_one.mb / busy_one.seconds).toFixed(1)} MB/s, host ${before_second.toFixed(0)} MiB before, ${busy_one.least_mib.toFixed(0)} to ${busy_one.most_mib.toFixed(0)} MiB during`,
  );
  say(`p99 beside / alone: ${(percentile(beside, 0.99) / percentile(alone, 0.99)).toFixed(2)}`);
} finally {
  child.send({ id: 2, ask: 'stop', grace_ms: 100 });
  await child.exited;
  await control.stop();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
}
