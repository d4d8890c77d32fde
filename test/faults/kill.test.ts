import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connectClient } from '#test/support/mcp-clients.ts';
import { programBelow, type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { createRandom } from '#test/support/chance.ts';
import { rounds } from './random.ts';
import { compare, compareHistory, type Model, storedTools, write } from './workload.ts';
import { until } from '#test/support/until.ts';

/**
 * Programs are killed at random moments while somebody writes, imports, deploys and seals keys again. What was acknowledged
 * is there afterwards, exactly one snapshot is active, and the host serves that one.
 */
const ROUNDS = rounds(8);
const LONGEST_MS = 700;
const KEYS = ['a', 'b', 'c'].map((letter) => `${letter}-key-of-the-fault-tests-`.padEnd(40, '0123456789'));

const random = createRandom();
const model: Model = { tools: new Map(), pending: null, snapshot_version: 1, acknowledged: 0 };
const recoveries: number[] = [];
let killed = 0;
let killed_at = 0;
let others = new Set<string>();
let connection = { id: '', name: '' };
let programs: Programs;
let keys = KEYS.slice(0, 1);

const environment = () => ({ SVC_ENCRYPTION_KEY: keys.join(',') });

beforeAll(async () => {
  programs = await startPrograms({ env: environment() });
  await programs.demo();
  await programs.signIn();
  others = new Set((await storedTools(programs)).map(({ name }) => name));
  const { items } = await programs.api<{ items: { id: string; name: string }[] }>('GET', '/connections');
  connection = items[0] ?? connection;
  // A secret that has to open after every rotation.
  const secret = {
    name: 'sealed',
    db_type: 'postgresql',
    host: '192.0.2.1',
    port: 5432,
    database: 'd',
    username: 'u',
    password: 'opens always',
  };
  await programs.api('POST', '/connections', secret);
}, 60_000);

afterAll(async () => {
  await programs.stop();
  removeFolder(programs);
  const sorted = recoveries.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  process.stdout.write(
    `seed ${random.seed}: ${killed} kills, ${model.acknowledged} acknowledged writes, recovery p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, longest ${at(1)} ms\n`,
  );
}, 60_000);

const killers = {
  async server() {
    killed_at = performance.now();
    await programs.stop('SIGKILL');
    await restart();
  },
  async host() {
    killProgram('mcp-host/main.ts');
  },
  async agent() {
    killProgram('agent/main.ts');
  },
  /** The first key changes, and the program that seals everything again is killed in the middle. */
  async rotation() {
    await programs.stop('SIGKILL');
    keys = [KEYS[(KEYS.indexOf(keys[0] ?? '') + 1) % KEYS.length] ?? '', ...keys].slice(0, 2);
    const rewrap = Bun.spawn([process.execPath, 'server/cli.ts', 'keys', 'rewrap'], {
      env: { PATH: process.env['PATH'] ?? '', SVC_ENV: 'dev', SVC_DATA_DIR: programs.directory, ...environment() },
      stdout: 'ignore',
      stderr: 'ignore',
    });
    await Bun.sleep(random.whole(500));
    rewrap.kill('SIGKILL');
    await rewrap.exited;
    await restart();
    // Both keys stay until everything is sealed with the first, as the guide says.
    const done = Bun.spawnSync([process.execPath, 'server/cli.ts', 'keys', 'rewrap'], {
      env: { PATH: process.env['PATH'] ?? '', SVC_ENV: 'dev', SVC_DATA_DIR: programs.directory, ...environment() },
    });
    expect({ code: done.exitCode, text: done.stderr.toString() }).toEqual({ code: 0, text: '' });
    keys = keys.slice(0, 1);
    await programs.stop();
    killed_at = performance.now();
    await restart();
  },
};

function killProgram(command: string): void {
  const pid = programBelow(programs.process.pid, command);
  if (pid !== null) process.kill(pid, 'SIGKILL');
  killed_at = performance.now();
}

async function restart(): Promise<void> {
  programs = await startPrograms({ again: programs, env: environment() });
  await programs.signIn();
}

interface Status {
  readonly status: string;
  readonly snapshot_version: number;
  readonly hosts: readonly { readonly snapshot_version: number | null }[];
}

/** The host is back, has the active version, and serves exactly its tools. */
async function settle(): Promise<void> {
  let status: Status | undefined;
  await until(
    async () => {
      status = await programs.api<Status>('GET', '/deploy/status');
      return (
        status.status === 'running' &&
        status.hosts.length > 0 &&
        status.hosts.every((host) => host.snapshot_version === status?.snapshot_version)
      );
    },
    () => `${JSON.stringify(status)} ${programs.output().slice(-4_000)}`,
  );
  const served = await serving();
  recoveries.push(performance.now() - killed_at);
  const { snapshot_version } = status ?? { snapshot_version: 0 };
  const { items } = await programs.api<{ items: { version: number; active: boolean }[] }>('GET', '/snapshots?limit=100');
  expect(items.filter(({ active }) => active).map(({ version }) => version)).toEqual([snapshot_version]);
  expect(snapshot_version).toBeGreaterThanOrEqual(model.snapshot_version);
  const snapshot = await programs.api<{ content: { tools: { name: string }[] } }>('GET', `/snapshots/${snapshot_version}`);
  expect(served.toSorted()).toEqual(snapshot.content.tools.map(({ name }) => name).toSorted());
}

async function serving(): Promise<string[]> {
  let names: string[] = [];
  await until(
    async () => {
      const client = await connectClient('v2', programs.mcp_url);
      names = await client.tools();
      await client.close();
      return true;
    },
    () => programs.output().slice(-4_000),
  );
  return names;
}

test(
  `nothing that was acknowledged is lost over ${ROUNDS} kills (seed ${random.seed})`,
  async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const victim = random.pick(['server', 'server', 'host', 'agent', 'rotation'] as const);
      let stopped = false;
      const writing = write(programs, model, random, connection, () => stopped);
      await Bun.sleep(random.whole(LONGEST_MS));
      if (victim === 'agent' || victim === 'host') {
        await killers[victim]();
        stopped = random.whole(2) === 0;
        await serving();
        stopped = true;
        await writing;
      } else {
        const killing = killers[victim]();
        await writing;
        stopped = true;
        await killing;
      }
      killed += 1;
      await settle();
      const faults = [...(await compare(programs, model, others)), ...(await compareHistory(programs, model, random))];
      expect({ round, victim, faults }).toEqual({ round, victim, faults: [] });
    }
    const report = Bun.spawnSync([process.execPath, 'server/cli.ts', 'check'], {
      env: { PATH: process.env['PATH'] ?? '', SVC_ENV: 'dev', SVC_DATA_DIR: programs.directory, ...environment() },
    });
    expect({ code: report.exitCode, text: report.stdout.toString() }).toMatchObject({ code: 0 });
  },
  60_000 + ROUNDS * 20_000,
);
