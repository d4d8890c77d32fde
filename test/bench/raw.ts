import postgres from 'postgres';
import { percentile } from './figures.ts';
import { pidsBelow, measureTree } from './machine.ts';
import type { Loaded } from './wrk.ts';
import { type BenchDatabase, numbered, POOL } from './workload.ts';

/** The driver alone: rows to JSON text, no protocol around it. Run by itself it is the child that does the work. */
interface Work {
  readonly database: { readonly host: string; readonly port: number; readonly user: string; readonly name: string };
  readonly text: string;
  readonly span: number;
  readonly callers: number;
  readonly seconds: number;
}

export async function runRaw(
  database: BenchDatabase,
  sql: string,
  callers: number,
  seconds: number,
): Promise<Loaded & { cpu_s: number }> {
  const { host, port, user, name, rows } = database;
  const work: Work = { database: { host, port, user, name }, text: numbered(sql), span: rows - 20_000, callers, seconds };
  const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(work)], { stdout: 'pipe', stderr: 'inherit' });
  return JSON.parse(await new Response(child.stdout).text()) as Loaded & { cpu_s: number };
}

if (import.meta.main) await main(JSON.parse(process.argv[2] ?? '{}') as Work);

async function main({ database, text, span, callers, seconds }: Work): Promise<void> {
  const { host, port, user, name } = database;
  const sql = postgres({
    host,
    port,
    username: user,
    database: name,
    max: POOL,
    fetch_types: false,
    connection: { default_transaction_read_only: true },
  });
  let ends = 0;
  let times: number[] = [];
  const caller = async () => {
    while (performance.now() < ends) {
      const began = performance.now();
      JSON.stringify(await sql.unsafe(text, [Math.ceil(Math.random() * span)], { prepare: true }));
      times.push(performance.now() - began);
    }
  };
  const run = async (ms: number) => {
    times = [];
    ends = performance.now() + ms;
    await Promise.all(Array.from({ length: callers }, caller));
  };
  await run(1_000);
  const before = measureTree(pidsBelow(process.pid)).cpu_s;
  await run(seconds * 1_000);
  const cpu_s = measureTree([process.pid]).cpu_s - before;
  const figures = {
    calls: times.length,
    rps: times.length / seconds,
    p50_ms: Number(percentile(times, 50)),
    p99_ms: Number(percentile(times, 99)),
    errors: 0,
    cpu_s,
  };
  process.stdout.write(JSON.stringify(figures));
  await sql.end();
}
