import postgres from 'postgres';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { PipelineSlot } from '#core/engines/shared/source.ts';
import { createQueue } from '#mcp-host/connections/queue.ts';
import { localPolicy } from '#test/support/databases.ts';
import { measureTree } from './machine.ts';
import { table } from './report.ts';
import { type BenchDatabase, createDatabase, numbered, POOL, TOOLS } from './workload.ts';

/**
 * The same read, in a read-only transaction of its own that is rolled back, by our session and by drivers as they come:
 * `bun test/bench/drivers.ts [seconds]`. Each runs in a process of its own. Ours has the host's queue before it; the drivers send the
 * three commands without waiting, and have neither queue nor limits.
 */
interface Work {
  readonly driver: keyof typeof DRIVERS;
  readonly database: Pick<BenchDatabase, 'name' | 'host' | 'port' | 'user' | 'url'>;
  readonly text: string;
  readonly span: number;
  readonly seconds: number;
}
interface Figures {
  readonly rps: number;
  /** Processor time for 10 000 reads, seconds. */
  readonly cpu_s: number;
  readonly p99_ms: number;
}
type Read = (value: number) => Promise<unknown>;
type Open = (database: Work['database'], text: string) => Promise<Read>;

const CALLERS = 64;
const LIMITS = { mode: 'fixed', timeout_ms: 10_000, max_rows: 1_000, max_bytes: 4 * 1024 * 1024 } as const;

const DRIVERS = {
  ours: async ({ name, host, port, user }, text) => {
    const settings = { database: name, host, port, username: user, password: null, ssl_mode: 'disable', ssl_ca: null } as const;
    const source = openPostgres(
      { ...settings, db_type: 'postgresql', ssl_cert: null, ssl_key: null, extra_params: {}, pool_size: POOL },
      localPolicy,
    );
    const queue = createQueue({ name: 'bench', max_concurrency: POOL, queue_limit: 1_000, queue_timeout_ms: 60_000 });
    return async (value) => {
      const statement = { text, values: [value], types: ['integer' as const] };
      let slot: PipelineSlot | null = null;
      const pipeline = (sessions: number) => (slot ??= source.pipelineSlot?.(statement, sessions) ?? null) !== null;
      await queue.enter(undefined, pipeline);
      try {
        if (pipeline(POOL)) {
          const answer = await (slot as PipelineSlot | null)?.query(LIMITS);
          if (answer) return answer;
        }
        return await source.query(statement, LIMITS);
      } finally {
        queue.leave();
      }
    };
  },
  'postgres.js': async ({ name, host, port, user }, text) => {
    const options = { host, port, database: name, username: user, max: 1, fetch_types: false };
    const sessions = Array.from({ length: POOL }, () => postgres(options));
    let next = 0;
    return async (value) => {
      const session = sessions[next++ % POOL]!;
      const begin = session.unsafe('begin read only');
      const rows = session.unsafe(text, [value], { prepare: true });
      return (await Promise.all([begin, rows, session.unsafe('rollback')]))[1];
    };
  },
  'Bun.SQL': async ({ url }, text) => {
    const sessions = Array.from({ length: POOL }, () => new Bun.SQL({ url, max: 1 }));
    let next = 0;
    return async (value) => {
      const session = sessions[next++ % POOL]!;
      const begin = session.unsafe('begin read only');
      const rows = session.unsafe(text, [value]);
      return (await Promise.all([begin, rows, session.unsafe('rollback')]))[1];
    };
  },
} satisfies Record<string, Open>;

async function measure({ driver, database, text, span, seconds }: Work): Promise<Figures> {
  const read: Read = await DRIVERS[driver](database, text);
  let ends = 0;
  let times: number[] = [];
  const caller = async () => {
    while (performance.now() < ends) {
      const began = performance.now();
      JSON.stringify(await read(Math.ceil(Math.random() * span)));
      times.push(performance.now() - began);
    }
  };
  const run = async (ms: number) => {
    times = [];
    ends = performance.now() + ms;
    await Promise.all(Array.from({ length: CALLERS }, caller));
  };
  await run(1_500);
  const before = measureTree([process.pid]).cpu_s;
  await run(seconds * 1_000);
  const cpu_s = ((measureTree([process.pid]).cpu_s - before) / times.length) * 10_000;
  const sorted = times.toSorted((a, b) => a - b);
  return { rps: times.length / seconds, cpu_s, p99_ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN };
}

async function main(seconds: number): Promise<void> {
  const database = await createDatabase(100_000);
  const { name, host, port, user, url } = database;
  const found = new Map<string, Figures[]>();
  try {
    for (let round = 0; round < 3; round++) {
      for (const driver of Object.keys(DRIVERS)) {
        const work = {
          driver,
          database: { name, host, port, user, url },
          text: numbered(TOOLS.lookup.sql),
          span: 80_000,
          seconds,
        };
        const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(work)], {
          stdout: 'pipe',
          stderr: 'inherit',
        });
        const figures = JSON.parse(await new Response(child.stdout).text()) as Figures;
        found.set(driver, [...(found.get(driver) ?? []), figures]);
      }
    }
  } finally {
    await database.drop();
  }
  const median = (all: readonly Figures[], key: keyof Figures) =>
    all.map((one) => one[key]).toSorted((a, b) => a - b)[all.length >> 1] ?? 0;
  const rows = [...found].map(([driver, all]) => [
    driver,
    median(all, 'rps').toFixed(0),
    median(all, 'cpu_s').toFixed(3),
    median(all, 'p99_ms').toFixed(1),
  ]);
  process.stdout.write(`${table(['reads by', 'reads/s', 'CPU s per 10 000', 'p99 ms'], rows)}\n`);
}

const [given = '3'] = process.argv.slice(2);
if (given.startsWith('{')) {
  process.stdout.write(JSON.stringify(await measure(JSON.parse(given) as Work)));
  process.exit(0);
}
await main(Number(given));
