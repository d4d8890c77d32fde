import { heapStats } from 'bun:jsc';
import { expect, test } from 'bun:test';
import { createLog, type LogLine } from '#core/process/log.ts';
import { serveStdio } from '#mcp-host/transports/stdio.ts';
import { connection, ENVELOPE, hostHere, snapshotOf, type TestHost, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';
import { pythonLines } from '#test/support/python-lines.ts';

/** Longer than the moment after which a call watches whether its caller leaves. */
const SLOW = 'with recursive c(n) as (select 1 union all select n + 1 from c where n < 150000) select count(*) as n from c';
const ENDLESS = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
const { folder, control, closing } = useHost('each', null);

/** A host in this process, whose memory can be looked at, with the tools `slow` and `endless`. */
async function start(more: Parameters<typeof hostHere>[2] = {}): Promise<TestHost['host']> {
  const started = await hostHere(folder.directory, control.url, more);
  closing.push(() => started.stop());
  await until(() => started.host.health().control.connected);
  const tools = [toolOf(connection, 'slow', SLOW), toolOf(connection, 'endless', ENDLESS)];
  await control.deploy(snapshotOf(1, { connections: [connection], tools }));
  return started.host;
}

const callMessage = (id: number, name: string) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, _meta: ENVELOPE },
});
const held = (): number => {
  Bun.gc(true);
  return heapStats().objectTypeCounts['Request'] ?? 0;
};

test('a call that ran for a while is forgotten when it is answered, although its peer stays', async () => {
  const host = await start();
  const answers: string[] = [];
  const bridge = host.connect((text) => answers.push(text));
  const calls = async (count: number) => {
    for (let id = 0; id < count; id++) await bridge.take(callMessage(id, 'slow'));
  };
  await calls(3);
  const before = held();
  await calls(40);
  await Bun.sleep(10);
  expect(answers).toHaveLength(43);
  expect(answers.every((text) => text.includes('"rows":[{"n":150000}]'))).toBe(true);
  expect(held() - before).toBeLessThan(10);
  bridge.close();
});

test('a peer that leaves has every call cancelled', async () => {
  const host = await start();
  const bridge = host.connect(() => undefined);
  const taken = [1, 2].map((id) => bridge.take(callMessage(id, 'endless')));
  await until(() => host.health().connections[0]?.queue.active === 2);
  bridge.close();
  await Promise.all(taken);
  await until(() => host.health().connections[0]?.queue.active === 0);
});

test('each message to standard output is one line for every reader of lines, of whole characters', async () => {
  const host = await start();
  const written: string[] = [];
  const uri = 'db://a\u2028b\u0085c\ud83d';
  const lines = ['{', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } })];
  const input = new Blob([`${lines.join('\n')}\n`]).stream();
  const write = (line: string) => void written.push(line);
  await serveStdio({ input, connect: (send) => host.connect(send), write, log: createLog('ERROR', () => undefined) });
  const cut = pythonLines(written.join(''));
  expect(cut.slice(0, -1).map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { error: { code: -32_700 } },
    { id: 1, error: { data: { uri: uri.toWellFormed() } } },
  ]);
});

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};

test('a session over standard input goes on after a stop of any length, and ends with its peer', async () => {
  let now = Date.now();
  const host = await start({ now: () => now, keep_alive_ms: 10 });
  const answers: string[] = [];
  const bridge = host.connect((text) => answers.push(text));
  await bridge.take(INITIALIZE);
  control.send('stop', {});
  await until(() => host.health().status === 'stopped');
  now += 31 * 60_000;
  await Bun.sleep(50);
  await control.deploy(snapshotOf(2, { connections: [connection], tools: [toolOf(connection, 'one', 'select 1 as one')] }));
  await bridge.take({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'one' } });
  expect(answers.at(-1)).toContain('"rows":[{"one":1}]');
  control.send('stop', {});
  await until(() => host.health().status === 'stopped');
  expect(host.health().sessions).toBe(1);
  bridge.close();
  expect(host.health().sessions).toBe(0);
});

test('a line with a key twice is refused by its name, and the next line is answered', async () => {
  const host = await start();
  const lines: string[] = [];
  const input = ['{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', '{"jsonrpc":"2.0","id":2,"method":"ping"}'];
  await serveStdio({
    input: new Blob([input.join('\n')]).stream(),
    connect: (send) => host.connect(send),
    write: (line) => void lines.push(line),
    log: createLog('ERROR', () => undefined),
  });
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { id: null, error: { code: -32_700, message: 'The line has the key "method" twice in one object. Send each key once.' } },
    { id: 2, result: {} },
  ]);
});

test('a message that standard input fails on is answered and logged', async () => {
  const host = await start();
  const lines: string[] = [];
  const logged: LogLine[] = [];
  let failures = 1;
  const write = (line: string) => {
    if (failures-- > 0) throw new Error('The line cannot be written.');
    lines.push(line);
  };
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  await serveStdio({
    input: new Blob([ping]).stream(),
    connect: (send) => host.connect(send),
    write,
    log: createLog('DEBUG', (line) => logged.push(line), 'host'),
  });
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    { jsonrpc: '2.0', id: 1, error: { code: -32_603, message: 'The server failed. See its log.' } },
  ]);
  expect(logged.map(({ message }) => message)).toEqual(['request_failed']);
});
