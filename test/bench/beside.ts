import { compileArguments } from '#core/query/arguments.ts';
import { createLog } from '#core/process/log.ts';
import { createLines } from '#mcp-host/observe/usage.ts';
import { createUsage } from '#mcp-host/observe/usage.ts';
import { redisUrl, reachable } from '#test/support/databases.ts';
import { type Ours, startOurs } from './ours.ts';
import { digits, median, ratioGate, type Gate, type Say, type Section, table } from './report.ts';
import { JSON_TYPES, type Target } from './target.ts';
import { type BenchDatabase, callBody, TOOLS } from './workload.ts';
import { runWrk } from './wrk.ts';

export interface BesideOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly say: Say;
}

const PACED = { connections: 16, think_ms: 20 };

/** Paced point lookups while one caller asks for 10 000 rows again and again. */
export async function measureBeside(
  database: BenchDatabase,
  ours: Ours,
  peers: readonly Target[],
  { rounds, seconds, say }: BesideOptions,
): Promise<Section> {
  const rows: (string | number)[][] = [];
  const gates: Gate[] = [];
  for (const target of [ours, ...peers]) {
    const asked = {
      url: target.url,
      headers: target.headers,
      tool: TOOLS.lookup.name,
      span: database.rows - 20_000,
      seconds,
      ...PACED,
    };
    const alone: number[] = [];
    const beside: number[] = [];
    const p99: number[] = [];
    let large = 0;
    for (let round = 0; round < rounds; round++) {
      alone.push((await runWrk(asked)).p50_ms);
      const looping = loopLarge(target, database.rows - 20_000);
      await Bun.sleep(300);
      const loaded = await runWrk(asked);
      large += await looping.end();
      beside.push(loaded.p50_ms);
      p99.push(loaded.p99_ms);
    }
    const ratio = median(beside) / median(alone);
    const each_s = large / (rounds * (seconds + 0.3));
    rows.push([
      target.name,
      digits(median(alone)),
      digits(median(beside)),
      digits(median(p99)),
      digits(each_s),
      `${digits(ratio)} ×`,
    ]);
    if (target === ours) {
      const bound = 'rows are read and written in slices; a slice is waited for';
      gates.push(
        ratioGate('point-lookup p50 beside a caller of 10 000 rows, to alone', median(beside), median(alone), '<=', 3, bound),
      );
    }
  }
  say('Point lookups beside large results done.');
  const head = ['target', 'p50 alone ms', 'p50 beside ms', 'p99 beside ms', 'large calls/s', 'beside to alone'];
  return { title: 'Point lookups beside a caller of 10 000 rows', text: table(head, rows), gates };
}

/** One caller that asks for the large result, reads it whole and asks again. */
function loopLarge(target: Target, span: number): { end(): Promise<number> } {
  const state = { running: true };
  let calls = 0;
  const loop = (async () => {
    while (state.running) {
      const body = callBody(TOOLS.large.name, Math.ceil(Math.random() * span));
      const answer = await fetch(target.url, { method: 'POST', headers: { ...JSON_TYPES, ...target.headers }, body });
      const text = await answer.text();
      if (answer.status !== 200 || text.length < 500_000)
        throw new Error(`${target.name}: no large result came: ${text.slice(0, 200)}`);
      calls++;
    }
  })();
  return {
    async end() {
      state.running = false;
      await loop;
      return calls;
    },
  };
}

/**
 * What bearer authentication, validation, the usage report and Redis cost the host: the product with all of them beside one
 * with neither token nor Redis, minus what validation and usage were measured to take by themselves.
 */
/** Hosts of each kind: two that run the same code differ by more than what is sought. */
const HOSTS = 4;
interface Host {
  readonly product: Ours;
  readonly cpu_us: number[];
}
const meanOf = (hosts: readonly Host[]): number =>
  hosts.reduce((sum, { cpu_us }) => sum + median(cpu_us), 0) / Math.max(1, hosts.length);
const eachOf = (hosts: readonly Host[]): string => hosts.map(({ cpu_us }) => digits(median(cpu_us))).join(', ');

export async function measureGuards(database: BenchDatabase, { rounds, seconds, say }: BesideOptions): Promise<Section> {
  if (!reachable.redis) return { title: 'What the guards cost', text: 'Not measured: there is no Redis here.', gates: [] };
  const offer = { tools: [TOOLS.lookup] };
  const redis = { SVC_KV: 'redis', SVC_REDIS_URL: redisUrl, REDIS_URL: redisUrl };
  const open: Host[] = [];
  const guarded: Host[] = [];
  try {
    for (let n = 0; n < HOSTS; n++) {
      open.push({ product: await startOurs(database, { ...offer, bearer: false, env: { SVC_KV: 'memory' } }), cpu_us: [] });
      guarded.push({ product: await startOurs(database, { ...offer, bearer: true, env: redis }), cpu_us: [] });
    }
    const hosts = open.flatMap((host, n) => [host, ...guarded.slice(n, n + 1)]);
    // Each begins with the other end, and the first round warms up.
    for (let round = 0; round < rounds + 1; round++) {
      for (const { product, cpu_us } of round % 2 === 0 ? hosts : hosts.toReversed()) {
        const { url, headers } = product;
        const before = product.measureHost().cpu_s;
        const load = { url, headers, tool: TOOLS.lookup.name, span: database.rows - 20_000, connections: 64, seconds };
        const { calls } = await runWrk(load);
        if (round > 0) cpu_us.push(((product.measureHost().cpu_s - before) / calls) * 1e6);
      }
    }
  } finally {
    for (const { product } of [...open, ...guarded]) await product.stop();
  }
  const validation = validationCost();
  const usage = usageCost();
  const bare = meanOf(open) - validation - usage;
  say('What the guards cost done.');
  const rows = [
    ['bare path', digits(bare), ''],
    ['validation of one argument', digits(validation), ''],
    ['usage: one item, its batch as JSON', digits(usage), ''],
    ['host without authentication and Redis', digits(meanOf(open)), eachOf(open)],
    ['host with bearer, validation, usage and Redis', digits(meanOf(guarded)), eachOf(guarded)],
  ];
  const gate = ratioGate(
    'bearer, validation, usage and Redis: CPU of the host to the bare path',
    meanOf(guarded),
    bare,
    '<=',
    1.1,
    'not established: the digest of a token and its lookup take 0.2 µs, and hosts with the same code differ by a tenth',
  );
  return { title: 'What the guards cost', text: table(['part', 'µs of CPU a call', 'each host'], rows), gates: [gate] };
}

const REPETITIONS = 100_000;

function microseconds(work: () => void, repetitions = REPETITIONS): number {
  for (let n = 0; n < repetitions / 10; n++) work();
  const before = process.cpuUsage();
  for (let n = 0; n < repetitions; n++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / repetitions;
}

function validationCost(): number {
  const check = compileArguments([{ name: 'start', type: 'integer', description: '', required: true }]);
  return microseconds(() => void check({ start: 5 }));
}

function usageCost(): number {
  const log = createLog('ERROR', () => {});
  const usage = createUsage({
    send: () => Promise.resolve(),
    log,
    lines: createLines(),
    queues: () => [],
    interval_ms: 3_600_000,
    capacity: REPETITIONS * 2,
  });
  let last = {};
  const adding = microseconds(() => {
    const item = {
      of: {
        kind: 'tool' as const,
        name: TOOLS.lookup.name,
        entity_id: 'entity',
        connection_id: 'connection',
        snapshot_version: 1,
        client: 'bench',
        token_prefix: 'svc_mcp_0000',
      },
      timestamp: Date.now(),
      duration_ms: 1.234,
      wait_ms: 0.5,
      database_ms: 0.4,
      rows: 1,
      bytes: 362,
      tokens: 60,
      truncated: false,
      fault: null,
      trace_id: null,
      ignored_arguments: [],
      arguments: null,
    };
    usage.add(item);
    last = item;
  });
  usage.close();
  return adding + microseconds(() => void JSON.stringify(last));
}
