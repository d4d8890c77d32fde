import { afterAll, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '#test/support/free-port.ts';
import { modern } from '#test/mcp-host/support.ts';
import { programBelow, type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

/** `sluice start`: server, host and agent below one process. */
const started: Programs[] = [];
afterAll(async () => {
  for (const programs of started) {
    await programs.stop('SIGKILL');
    removeFolder(programs);
  }
});

async function start(): Promise<Programs> {
  const programs = await startPrograms();
  started.push(programs);
  await programs.demo();
  return programs;
}

const processOf = ({ process: { pid } }: Programs, command: string): number => programBelow(pid, command) ?? 0;

const statusOfCall = async ({ mcp_url }: Programs) =>
  (await modern(new URL(mcp_url), 'tools/call', { name: 'search_products', arguments: { text: 'l', limit: 3 } })).status;
const isUp = ({ url }: Programs) =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );

test('a server that is killed is started again, and no call to the host is lost meanwhile', async () => {
  const programs = await start();
  const [server, host] = [processOf(programs, 'run-server.ts'), processOf(programs, 'mcp-host/main.ts')];
  process.kill(server, 'SIGKILL');
  const answers: number[] = [];
  await until(async () => {
    answers.push(await statusOfCall(programs));
    return (await isUp(programs)) && ![0, server].includes(processOf(programs, 'run-server.ts'));
  }, programs.output);
  expect(answers.filter((status) => status !== 200)).toEqual([]);
  expect(processOf(programs, 'mcp-host/main.ts')).toBe(host);
  await until(async () => (await statusOfCall(programs)) === 200);
  // A signal to the server alone ends all of them.
  process.kill(processOf(programs, 'run-server.ts'), 'SIGTERM');
  expect(await programs.process.exited).toBe(0);
  expect(await isUp(programs)).toBe(false);
}, 60_000);

test('a host that is killed under load comes back with what it served; the server goes on', async () => {
  const programs = await start();
  const [server, host] = [processOf(programs, 'run-server.ts'), processOf(programs, 'mcp-host/main.ts')];
  const served = await statusOfCall(programs);
  process.kill(host, 'SIGKILL');
  const [lost, back]: [number[], number[]] = [[], []];
  const killed_at = performance.now();
  await until(async () => {
    const status = await statusOfCall(programs).catch(() => 0);
    (status === 200 ? back : lost).push(performance.now() - killed_at);
    return back.length >= 20;
  }, programs.output);
  process.stdout.write(`A killed host served again after ${Math.round(back[0] ?? 0)} ms.\n`);
  expect(served).toBe(200);
  expect([0, host]).not.toContain(processOf(programs, 'mcp-host/main.ts'));
  expect([processOf(programs, 'run-server.ts'), await isUp(programs)]).toEqual([server, true]);
  // Once it is back, it stays.
  expect(lost.filter((at) => at > (back[0] ?? 0))).toEqual([]);
}, 60_000);

test('a second start on the same folder is refused, and one after the end of the first is not', async () => {
  const programs = await start();
  const second = Bun.spawn([process.execPath, 'server/main.ts'], {
    cwd: join(import.meta.dir, '../..'),
    env: { SVC_ENV: 'dev', SVC_PORT: String(freePort()), SVC_DATA_DIR: programs.directory },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  expect(await second.exited).toBe(1);
  const printed = (await new Response(second.stdout).text()) + (await new Response(second.stderr).text());
  expect(printed).toContain(`Another server uses ${programs.directory}/sluice.sqlite. Stop it, or set SVC_DATA_DIR`);
  expect(await isUp(programs)).toBe(true);
  const stopping = programs.stop();
  const third = await startPrograms({ again: programs });
  started.push(third);
  await stopping;
  expect(programs.process.exitCode).toBe(0);
  await until(() => isUp(third), third.output);
}, 60_000);

test('when the process above all programs is killed, they end, and a start on the same folder serves again', async () => {
  const programs = await start();
  const below = [processOf(programs, 'run-server.ts'), processOf(programs, 'mcp-host/main.ts')];
  process.kill(programs.process.pid, 'SIGKILL');
  await programs.process.exited;
  const isAlive = (pid: number) => existsSync(`/proc/${pid}`);
  await until(() => !below.some(isAlive), programs.output);
  const again = await startPrograms({ again: programs });
  started.push(again);
  await until(async () => (await isUp(again)) && (await statusOfCall(again).catch(() => 0)) === 200, again.output);
}, 60_000);
