import { readFileSync } from 'node:fs';
import { modern } from '#test/mcp-host/support.ts';
import { programBelow, removeFolder, startPrograms } from '#test/support/programs.ts';

/** Memory and processor time of server and host, idle and under load: `bun test/bench/sizes.ts 500 30`. */

const RATE = Number(process.argv[2] ?? 500);
const SECONDS = Number(process.argv[3] ?? 30);
const TICK_MS = 20;
const TICKS_PER_SECOND = 100;

interface Use {
  readonly mebibytes: number;
  readonly processor_s: number;
}

function useOf(pid: number): Use {
  const [, resident = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  // Fields 14 and 15 of proc(5); the name before them may have spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return {
    mebibytes: Number(resident) / 1_024,
    processor_s: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
  };
}

const programs = await startPrograms({ env: { SVC_TOOL_RATE_LIMIT: '0', SVC_CALLER_RATE_LIMIT: '0' } });
await programs.demo();
const pids = {
  server: programBelow(programs.process.pid, 'run-server.ts') ?? programs.process.pid,
  host: programBelow(programs.process.pid, 'mcp-host/main.ts') ?? 0,
};

async function measure(name: string, work: () => Promise<void>): Promise<void> {
  const before = { server: useOf(pids.server), host: useOf(pids.host) };
  await work();
  for (const program of ['server', 'host'] as const) {
    const { mebibytes, processor_s } = useOf(pids[program]);
    const share = ((processor_s - before[program].processor_s) / SECONDS) * 100;
    process.stdout.write(`${name}, ${program}: ${mebibytes.toFixed(0)} MiB, ${share.toFixed(1)} % of a processor\n`);
  }
}

let answered = 0;
let failed = 0;
async function load(): Promise<void> {
  const url = new URL(programs.mcp_url);
  const running = new Set<Promise<void>>();
  const until = performance.now() + SECONDS * 1_000;
  for (let sent = 0, start = performance.now(); performance.now() < until; await Bun.sleep(TICK_MS)) {
    for (const due = ((performance.now() - start) / 1_000) * RATE; sent < due; sent++) {
      const call = modern(url, 'tools/call', { name: 'search_products', arguments: { text: 'l', limit: 3 } })
        .then(({ status }) => void (status === 200 ? (answered += 1) : (failed += 1)))
        .finally(() => running.delete(call));
      running.add(call);
    }
  }
  await Promise.all(running);
}

try {
  await Bun.sleep(10_000);
  await measure('idle', () => Bun.sleep(SECONDS * 1_000));
  await measure(`${RATE} calls per second`, load);
  process.stdout.write(`${(answered / SECONDS).toFixed(0)} calls per second were answered, ${failed} failed.\n`);
} finally {
  await programs.stop();
  removeFolder(programs);
}
