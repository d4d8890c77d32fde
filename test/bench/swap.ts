import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { percentile, row } from '#test/bench/figures.ts';
import { type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

/**
 * Deploys while 16 callers call without a pause: lost calls, answers of a version that was never deployed, and database
 * sessions before and after. `bun test/bench/swap.ts [deploys] [callers]`
 */
const [deploys = 20, callers = 16] = process.argv.slice(2, 4).map(Number);

const lines = [
  row([
    'database',
    'deploys',
    'callers',
    'calls',
    'lost',
    'call p50 ms',
    'call p99 ms',
    'deploy p95 ms',
    'sessions before',
    'sessions after',
  ]),
  row(Array.from({ length: 10 }, () => '---')),
];
for (const kind of ['sqlite', 'postgresql'] as const) lines.push(await measure(kind));
process.stdout.write(`${lines.join('\n')}\n`);

async function measure(kind: 'sqlite' | 'postgresql'): Promise<string> {
  const programs = await startPrograms({ env: { SVC_DEMO: 'false', SVC_LOG_LEVEL: 'WARNING' } });
  const database = kind === 'postgresql' ? await testDatabase('postgresql') : null;
  try {
    await programs.signIn();
    return await underLoad(kind, programs, database);
  } finally {
    await programs.stop();
    removeFolder(programs);
    await database?.drop();
  }
}

async function underLoad(kind: string, programs: Programs, database: TestDatabase | null): Promise<string> {
  const connection_id = (await programs.api<{ id: string }>('POST', '/connections', await connection(programs, database))).id;
  const tool = {
    connection_id,
    name: 'version',
    description: 'The deployed version',
    sql_query: 'select 0 as version',
    return_type: 'value',
  };
  const { id } = await programs.api<{ id: string }>('POST', '/tools', tool);
  await programs.api('POST', '/deploy', {});
  const sessions = async () =>
    database === null
      ? children(programs)
      : Number(
          (
            await database.run(
              `select count(*) as n from pg_stat_activity where datname = current_database() and application_name = 'sluice'`,
            )
          )[0]?.['n'],
        );

  const times: number[] = [];
  const wrong: string[] = [];
  let deployed = 0;
  const load_state = { running: true };
  const caller = async () => {
    while (load_state.running) {
      const started = performance.now();
      const text = await call(programs.mcp_url).catch((error: unknown) => String(error));
      times.push(performance.now() - started);
      const value = /"structuredContent":\{"value":(\d+)\}/.exec(text)?.[1];
      if (value === undefined || Number(value) > deployed + 1) wrong.push(text);
    }
  };
  const load = Array.from({ length: callers }, caller);
  await Bun.sleep(300);
  const before = await sessions();
  const deploy_times: number[] = [];
  for (let n = 1; n <= deploys; n++) {
    await programs.api('PATCH', `/tools/${id}`, { sql_query: `select ${n} as version` });
    const started = performance.now();
    await programs.api('POST', '/deploy', {});
    deploy_times.push(performance.now() - started);
    deployed = n;
    await Bun.sleep(50);
  }
  load_state.running = false;
  await Promise.all(load);
  let after = await sessions();
  await until(async () => (after = await sessions()) <= before).catch(() => undefined);
  if (wrong[0] !== undefined) process.stderr.write(`first lost call: ${wrong[0].slice(0, 300)}\n`);
  return row([
    kind,
    deploys,
    callers,
    times.length,
    wrong.length,
    percentile(times, 50),
    percentile(times, 99),
    percentile(deploy_times, 95),
    before,
    after,
  ]);
}

async function call(url: string): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"version","arguments":{}}}',
  });
  return response.text();
}

async function connection(programs: Programs, database: TestDatabase | null): Promise<object> {
  if (database !== null) {
    const { db_type, host, port, username, database: name } = database.settings;
    return { name: 'bench', db_type, host, port, username, database: name, ssl_mode: 'disable' };
  }
  mkdirSync(join(programs.directory, 'databases'), { recursive: true });
  new Database(join(programs.directory, 'databases/bench.sqlite')).run('create table t (a)');
  return { name: 'bench', db_type: 'sqlite', database: 'bench.sqlite' };
}

/** Child programs that hold SQLite files. */
function children({ process: server }: Programs): number {
  const all = Bun.spawnSync(['ps', '-eo', 'pid,ppid,args']).stdout.toString().split('\n');
  const below = (pid: string): string[] =>
    all
      .filter((line) => line.trim().split(/\s+/)[1] === pid)
      .flatMap((line) => [line, ...below(line.trim().split(/\s+/)[0] ?? '')]);
  return below(String(server.pid)).filter((line) => /sqlite.child/.test(line)).length;
}
