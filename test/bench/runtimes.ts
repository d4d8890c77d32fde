import { startTwoRuntimes } from '#test/support/two-runtimes.ts';
import { measureTree } from './machine.ts';
import { configure, QUIET } from './ours.ts';
import { digits, median, type Say, type Section, table } from './report.ts';
import { probe } from './target.ts';
import { type BenchDatabase, callBody, TOOLS } from './workload.ts';
import { type Loaded, runWrk } from './wrk.ts';

export interface RuntimesOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly say: Say;
}

interface Measured extends Loaded {
  /** Seconds of processor time of the host for 10 000 calls. */
  readonly cpu_s: number;
}

const CALLERS = [1, 64];
const WARM = { connections: 16, seconds: 4 };

/** Point lookups on the same host on two runtimes: one server, one database, in turns. */
export async function measureRuntimes(database: BenchDatabase, { rounds, seconds, say }: RuntimesOptions): Promise<Section> {
  const both = await startTwoRuntimes(QUIET);
  try {
    const { headers } = await configure(both.server, database, { tools: [TOOLS.lookup], bearer: true });
    const hosts = await both.startHosts();
    const found = new Map<string, Measured[]>();
    for (const { runtime, url, pid } of hosts) {
      await probe(
        { name: runtime, url, headers, measure: () => measureTree([pid]), stop: () => both.stop() },
        callBody(TOOLS.lookup.name, 7),
        /"result"/,
      );
    }
    const load = { headers, tool: TOOLS.lookup.name, span: database.rows - 20_000 };
    for (const { url } of hosts) await runWrk({ ...load, url, ...WARM });
    for (let round = 0; round < rounds; round++) {
      for (const connections of CALLERS) {
        for (const { runtime, url, pid } of round % 2 === 0 ? hosts : hosts.toReversed()) {
          const before = measureTree([pid]).cpu_s;
          const loaded = await runWrk({ ...load, url, connections, seconds });
          const cpu_s = ((measureTree([pid]).cpu_s - before) / loaded.calls) * 10_000;
          const key = `${connections} ${runtime}`;
          found.set(key, [...(found.get(key) ?? []), { ...loaded, cpu_s }]);
        }
      }
    }
    const rows = CALLERS.flatMap((connections) =>
      hosts.map(({ runtime, pid }) => {
        const at = (name: string, of: keyof Measured) =>
          median((found.get(`${connections} ${name}`) ?? []).map((one) => one[of]));
        const errors = (found.get(`${connections} ${runtime}`) ?? []).reduce((sum, one) => sum + one.errors, 0);
        const rps = at(runtime, 'rps');
        return [
          connections,
          `host on ${runtime}`,
          digits(rps),
          digits(at(runtime, 'p50_ms')),
          digits(at(runtime, 'p99_ms')),
          digits(at(runtime, 'cpu_s')),
          digits(measureTree([pid]).rss_mib),
          errors,
          `${digits(rps / at('Bun', 'rps'))} ×`,
        ];
      }),
    );
    say('Hosts on Bun and Deno done.');
    const head = [
      'callers',
      'target',
      'calls/s',
      'p50 ms',
      'p99 ms',
      'CPU s per 10 000',
      'MiB at the end',
      'errors',
      'calls/s to Bun',
    ];
    return { title: 'Point lookups on hosts on Bun and on Deno', text: table(head, rows), gates: [] };
  } finally {
    await both.stop();
  }
}
