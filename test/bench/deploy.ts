import { Database } from 'bun:sqlite';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { percentile, row } from '#test/bench/figures.ts';
import { measureTree, pidOf, pidsBelow } from '#test/bench/machine.ts';
import { removeFolder, startPrograms } from '#test/support/programs.ts';

/**
 * Deploys of many tools of which one changed: the whole call as the caller sees it, and the host's part (parse and swap).
 * `bun test/bench/deploy.ts [tools] [deploys] [postgres URL | ""] [metadata URL]`: the first URL is of the database that the tools
 * read, the second of an empty one for metadata.
 */
const [tools = 500, deploys = 60] = process.argv.slice(2, 4).map(Number);
const postgres = process.argv[4] || undefined;
const metadata = process.argv[5];

const programs = await startPrograms({
  env: {
    SVC_DEMO: 'false',
    SVC_LOG_LEVEL: 'WARNING',
    ...(metadata === undefined ? {} : { SVC_DATABASE_URL: metadata }),
  },
});
const server_pid = pidOf(pidsBelow(programs.process.pid), 'run-server.ts') ?? programs.process.pid;
try {
  await programs.signIn();
  await programs.api('POST', '/connections', connection());
  const file = { format: 'sluice/1', tools: Array.from({ length: tools }, (_, n) => tool(n, 0)) };
  const imported = await timed(() => programs.api('POST', '/export-import/import', file));
  const ids: string[] = [];
  while (ids.length < tools) {
    const { items } = await programs.api<{ items: { id: string }[] }>('GET', `/tools?limit=500&skip=${ids.length}`);
    ids.push(...items.map(({ id }) => id));
  }

  function tool(n: number, change: number) {
    return {
      connection: 'bench',
      name: `tool_${n}`,
      description: `Products of shelf ${n}, change ${change}`,
      sql_query: `select id, name, price from products where shelf = ${n} and price <= :max_price [[ and name like :name ]] order by id limit :limit`,
      parameters: [
        { name: 'max_price', type: 'number', description: 'Highest price' },
        { name: 'name', type: 'string', description: 'Pattern', required: false },
        { name: 'limit', type: 'integer', description: 'Most rows', default: 10, required: false, minimum: 1, maximum: 100 },
      ],
    };
  }

  const first = await timed(() => programs.api('POST', '/deploy', {}));
  const whole: number[] = [];
  const host: number[] = [];
  const status: number[] = [];
  const imported_mib = measureTree([server_pid]).rss_mib;
  const host_pid = pidOf(pidsBelow(programs.process.pid), 'mcp-host/main.ts') ?? server_pid;
  const cpu_before = [cpuMs(server_pid), cpuMs(host_pid)] as const;
  const written_before = writtenBy(server_pid);
  for (let n = 1; n <= deploys; n++) {
    await programs.api('PATCH', `/tools/${ids[n % tools]}`, { description: `Changed ${n}` });
    status.push((await timed(() => programs.api('GET', '/deploy/status'))).ms);
    const { ms, value } = await timed(() =>
      programs.api<{ hosts: { load_ms: number }[]; changed: boolean }>('POST', '/deploy', {}),
    );
    if (!value.changed) throw new Error('The deploy changed nothing.');
    whole.push(ms);
    host.push(value.hosts[0]?.load_ms ?? Number.NaN);
  }
  const [server_cpu, host_cpu] = [cpuMs(server_pid) - cpu_before[0], cpuMs(host_pid) - cpu_before[1]];
  const written = writtenBy(server_pid) - written_before;
  process.stdout.write(
    [
      row([
        'tools',
        'database',
        'import ms',
        'first deploy ms',
        'status after a change p95 ms',
        'deploy p50 ms',
        'deploy p95 ms',
        'host p50 ms',
        'host p95 ms',
        'server CPU ms a round',
        'host CPU ms a round',
        'server KiB written a round',
        'server MiB after the import',
        'server MiB',
      ]),
      row(Array.from({ length: 14 }, () => '---')),
      row([
        tools,
        `${postgres === undefined ? 'SQLite' : 'PostgreSQL'}, metadata ${metadata === undefined ? 'SQLite' : 'PostgreSQL'}`,
        imported.ms.toFixed(0),
        first.ms.toFixed(1),
        percentile(status, 95),
        percentile(whole, 50),
        percentile(whole, 95),
        percentile(host, 50),
        percentile(host, 95),
        (server_cpu / deploys).toFixed(1),
        (host_cpu / deploys).toFixed(1),
        Math.round(written / deploys / 1024),
        Math.round(imported_mib),
        Math.round(measureTree([server_pid]).rss_mib),
      ]),
      '',
    ].join('\n'),
  );
} finally {
  await programs.stop();
  removeFolder(programs);
}

function connection() {
  if (postgres !== undefined) {
    const url = new URL(postgres);
    return {
      name: 'bench',
      db_type: 'postgresql',
      host: url.hostname,
      port: Number(url.port || 5432),
      database: url.pathname.slice(1),
      username: url.username,
      ssl_mode: 'disable',
    };
  }
  mkdirSync(join(programs.directory, 'databases'), { recursive: true });
  const db = new Database(join(programs.directory, 'databases/bench.sqlite'));
  db.run('create table products (id integer primary key, name text, price real, shelf integer)');
  db.close();
  return { name: 'bench', db_type: 'sqlite', database: 'bench.sqlite' };
}

function cpuMs(pid: number): number {
  return measureTree([pid]).cpu_s * 1_000;
}

/** Bytes that a process had written to disks. */
function writtenBy(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const started = performance.now();
  const value = await work();
  return { ms: performance.now() - started, value };
}
