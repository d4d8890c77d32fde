import { pathToFileURL } from 'node:url';
import { join, resolve } from 'node:path';
import type { Ours, OursOptions } from './ours.ts';
import { digits, median, table } from './report.ts';
import { probe } from './target.ts';
import { type BenchDatabase, callBody, createDatabase, type ToolKey, TOOLS } from './workload.ts';
import { runWrk } from './wrk.ts';

/**
 * What a change costs or saves: the same calls on two checkouts in turns, each with its own programs and one database.
 * `bun test/bench/checkouts.ts FOLDER [--rounds=12] [--seconds=3] [--tool=lookup] [--callers=1,64]` compares this checkout with the
 * one in FOLDER. Prints medians and, of the ratio in each round, the median and the middle half.
 */
type StartOurs = (database: BenchDatabase, options: OursOptions) => Promise<Ours>;

interface Round {
  readonly rps: number;
  readonly p99_ms: number;
  /** Seconds of processor time for 10 000 calls: of all programs, and of the host alone. */
  readonly cpu_s: number;
  readonly host_cpu_s: number;
}

/** Calls on their way into the log of calls are counted too. */
const SETTLE_MS = 1_000;

const flags = process.argv.slice(2);
const value = (name: string, fallback: string): string =>
  flags.find((flag) => flag.startsWith(`--${name}=`))?.slice(name.length + 3) ?? fallback;
const [other] = flags.filter((flag) => !flag.startsWith('--'));
if (other === undefined) throw new Error('Name the folder of the other checkout.');
const rounds = Number(value('rounds', '12'));
const seconds = Number(value('seconds', '3'));
const key = value('tool', 'lookup') as ToolKey;

const database = await createDatabase(100_000);
const started: Ours[] = [];
try {
  for (const folder of [resolve(import.meta.dir, '../..'), resolve(other)]) {
    const from = pathToFileURL(join(folder, 'test/bench/ours.ts')).href;
    const { startOurs } = (await import(from)) as { readonly startOurs: StartOurs };
    started.push(await startOurs(database, { tools: [TOOLS[key]], bearer: true }));
  }
  for (const target of started) {
    await probe(target, callBody(TOOLS[key].name, 7), /"result"/);
    await load(target, 16, 5);
  }
  for (const callers of value('callers', '1,64').split(',').map(Number)) await compare(callers);
} finally {
  for (const target of started) await target.stop();
  await database.drop();
}
process.exit(0);

async function load(target: Ours, connections: number, each_s: number): Promise<Round> {
  const before = { all: target.measure().cpu_s, host: target.measureHost().cpu_s };
  const span = database.rows - 20_000;
  const loaded = await runWrk({
    url: target.url,
    headers: target.headers,
    tool: TOOLS[key].name,
    span,
    connections,
    seconds: each_s,
  });
  if (loaded.errors > 0) throw new Error(`${loaded.errors} calls failed.`);
  await Bun.sleep(SETTLE_MS);
  const each = (cpu_s: number) => (cpu_s / loaded.calls) * 10_000;
  return {
    rps: loaded.rps,
    p99_ms: loaded.p99_ms,
    cpu_s: each(target.measure().cpu_s - before.all),
    host_cpu_s: each(target.measureHost().cpu_s - before.host),
  };
}

async function compare(callers: number): Promise<void> {
  const found: [Round[], Round[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    // Who begins changes with the round.
    for (const n of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const target = started[n];
      if (target !== undefined) found[n].push(await load(target, callers, seconds));
    }
  }
  const [mine, theirs] = found;
  const fields = ['rps', 'p99_ms', 'cpu_s', 'host_cpu_s'] as const;
  const rows = fields.map((field) => {
    const ratios = mine.map((one, n) => one[field] / (theirs[n]?.[field] ?? Number.NaN)).toSorted((a, b) => a - b);
    const [low = 0, high = 0] = [ratios[Math.floor(rounds / 4)], ratios[Math.floor((rounds * 3) / 4)]];
    const medians = [mine, theirs].map((all) => digits(median(all.map((one) => one[field]))));
    return [field, ...medians, `${median(ratios).toFixed(3)} ×`, `${low.toFixed(3)} to ${high.toFixed(3)}`];
  });
  process.stdout.write(
    `${callers} callers, ${rounds} rounds of ${seconds} s\n${table(['', 'this checkout', 'the other one', 'ratio', 'middle half'], rows)}\n\n`,
  );
}
