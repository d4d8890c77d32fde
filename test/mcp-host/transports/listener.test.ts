import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { createListener } from '#mcp-host/transports/listener.ts';
import { connectionOf, modern, rpc, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { freePort } from '#test/support/free-port.ts';
import { isAnswered } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

// On a busy machine a call that began at the old address takes longer than the usual grace of tests.
const { control, host } = useHost('each', { grace_ms: 20_000 });

const slow = 'with recursive c(n) as (select 1 union all select n + 1 from c where n < 2000000) select count(*) as n from c';
const at = (version: number, address: { host: string; port: number }) => {
  const connection = connectionOf({});
  return snapshotOf(version, {
    connections: [connection],
    tools: [toolOf(connection, 'slow', slow, { timeout_ms: 60_000 })],
    server: address,
  });
};

describe('the address of the host', () => {
  test('moves with the snapshot: the new one opens, the old one finishes its calls and streams', async () => {
    const [first, second] = [freePort(), freePort()];
    await control.deploy(at(1, { host: '127.0.0.1', port: first }));
    const old = host.mcp;
    expect(old.port).toBe(String(first));
    const { headers } = await rpc(old, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
    const stream = await fetch(old, { headers: { 'mcp-session-id': headers.get('mcp-session-id') ?? '' } });
    const ended = stream.text();
    const running = modern(old, 'tools/call', { name: 'slow' });
    await until(async () => (await host.health()).connections[0]?.queue.active === 1);

    const listening = control.nextAck();
    control.send('listen', { host: '127.0.0.1', port: second, request_id: 'r1' });
    expect(await listening).toMatchObject({ request_id: 'r1', error: null });
    expect((await modern(new URL(`http://127.0.0.1:${second}/mcp`), 'tools/list')).status).toBe(200);
    const ack = await control.deploy(at(2, { host: '127.0.0.1', port: second }));
    expect(ack).toMatchObject({ version: 2, error: null, url: `http://127.0.0.1:${second}` });
    expect((await modern(host.mcp, 'tools/list')).status).toBe(200);
    await ended;
    expect(await running).toMatchObject({ body: { result: { structuredContent: { rows: [{ n: 2_000_000 }] } } } });
    await until(() =>
      fetch(old).then(
        () => false,
        () => true,
      ),
    );
  });

  test('that is taken is refused with the reason; what ran goes on', async () => {
    const taken = new URL(control.url).port;
    await control.deploy(at(1, { host: '127.0.0.1', port: 0 }));
    const asked = control.nextAck();
    control.send('listen', { host: '127.0.0.1', port: Number(taken), request_id: 'r2' });
    expect(await asked).toMatchObject({ request_id: 'r2', error: expect.stringMatching(/port \d+: another program uses it/) });
    const ack = await control.deploy(at(2, { host: '127.0.0.1', port: Number(taken) }));
    expect(ack).toMatchObject({ version: 1, error: expect.stringContaining('another program') });
    expect((await modern(host.mcp, 'tools/list')).status).toBe(200);
  });

  test('may change its host on the same port, and comes back when it cannot', async () => {
    const port = freePort();
    await control.deploy(at(1, { host: '127.0.0.1', port }));
    expect(await control.deploy(at(2, { host: '0.0.0.0', port }))).toMatchObject({ version: 2, error: null });
    expect((await modern(host.mcp, 'tools/list')).status).toBe(200);
    expect(await control.deploy(at(3, { host: '192.0.2.1', port }))).toMatchObject({
      version: 2,
      error: expect.stringContaining('does not have the address'),
    });
    expect((await modern(host.mcp, 'tools/list')).status).toBe(200);
  });

  test('that was prepared for nothing closes again when another is used', async () => {
    const port = freePort();
    await control.deploy(at(1, { host: '127.0.0.1', port: 0 }));
    const asked = control.nextAck();
    control.send('listen', { host: '127.0.0.1', port, request_id: 'r3' });
    await asked;
    await control.deploy(at(2, { host: '127.0.0.1', port: 0 }));
    await until(() =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        () => false,
        () => true,
      ),
    );
  });
});

describe('an address that was prepared in the place of the current one', () => {
  const answers = (host: string, port: number) => isAnswered(`http://${host}:${port}/`);
  const listenerOf = (in_place_ms: number) =>
    createListener({ fetch: () => new Response('here'), endStreams: () => undefined, in_place_ms });

  test('is not shared with another host', async () => {
    const address = { host: '127.0.0.1', port: freePort() };
    const [one, other] = [listenerOf(200), listenerOf(200)];
    await one.use(address);
    for (const take of [other.prepare(address), other.use(address)]) {
      expect(await take.catch((error: Error) => error.message)).toContain('another program uses it');
    }
    expect(await answers('127.0.0.1', address.port)).toBe(true);
    await one.close(0);
    await other.use(address);
    expect(await answers('127.0.0.1', address.port)).toBe(true);
    await other.close(0);
  });

  test('makes room again when no snapshot follows', async () => {
    const port = freePort();
    const listener = listenerOf(200);
    await listener.use({ host: '127.0.0.1', port });
    await listener.prepare({ host: '127.0.0.2', port });
    expect([await answers('127.0.0.1', port), await answers('127.0.0.2', port)]).toEqual([false, true]);
    await until(() => answers('127.0.0.1', port));
    expect(await answers('127.0.0.2', port)).toBe(false);
    expect(listener.current()?.address).toEqual({ host: '127.0.0.1', port });
    await listener.close(0);
  });

  test('stays once its snapshot has come', async () => {
    const port = freePort();
    const listener = listenerOf(50);
    await listener.use({ host: '127.0.0.1', port });
    await listener.prepare({ host: '127.0.0.2', port });
    await listener.use({ host: '127.0.0.2', port });
    await Bun.sleep(150);
    expect([await answers('127.0.0.1', port), await answers('127.0.0.2', port)]).toEqual([false, true]);
    await listener.close(0);
    await Bun.sleep(100);
    expect([await answers('127.0.0.1', port), await answers('127.0.0.2', port)]).toEqual([false, false]);
  });

  test('is left at once when another is prepared, and when the one before is asked for again', async () => {
    const [port, other] = [freePort(), freePort()];
    const listener = listenerOf(60_000);
    await listener.use({ host: '127.0.0.1', port });
    for (const next of [
      { host: '127.0.0.1', port: other },
      { host: '127.0.0.1', port },
    ]) {
      await listener.prepare({ host: '127.0.0.2', port });
      await listener.prepare(next);
      expect([await answers('127.0.0.1', port), await answers('127.0.0.2', port)]).toEqual([true, false]);
    }
    await listener.close(0);
  });

  test('is kept while another program has the old one, which is taken back as soon as it is free', async () => {
    const port = freePort();
    const listener = listenerOf(100);
    await listener.use({ host: '127.0.0.1', port });
    await listener.prepare({ host: '127.0.0.2', port });
    const squatter = Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response('theirs') });
    await Bun.sleep(300);
    expect(await answers('127.0.0.2', port)).toBe(true);
    await squatter.stop(true);
    await until(() => listener.current()?.address.host === '127.0.0.1');
    expect(await answers('127.0.0.1', port)).toBe(true);
    await listener.close(0);
  });
});

test('an address that was lost on the way to another one is taken back as soon as it is free', async () => {
  const port = freePort();
  let squatter: { stop(force: boolean): Promise<void> } | null = null;
  const squat = () => {
    squatter ??= Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response('', { status: 500 }) });
  };
  const listener = createListener({ fetch: () => new Response('here'), endStreams: squat });
  await listener.use({ host: '127.0.0.1', port });
  const refused = (change: Promise<void>) => change.catch((error: Error) => error.message);
  expect(await refused(listener.use({ host: '192.0.2.1', port }))).toContain('does not have the address');
  expect(listener.current()).toBeNull();
  // Further attempts that fail change nothing about it.
  expect(await refused(listener.use({ host: '192.0.2.1', port }))).toContain('does not have the address');
  expect(await refused(listener.prepare({ host: '192.0.2.1', port }))).toContain('does not have the address');
  await squatter!.stop(true);
  await until(() => listener.current()?.address.host === '127.0.0.1');
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here');
  await listener.close(0);
});

test('probes are answered without a Host, as load balancers ask in HTTP/1.0, and nothing else is', async () => {
  const { port } = host.mcp;
  const ask = (path: string, headers = '') =>
    new Promise<string>((resolve, reject) => {
      let answer = '';
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(`GET ${path} HTTP/1.0\r\n${headers}\r\n`));
      socket.on('data', (data) => (answer += data.toString()));
      socket.on('error', reject);
      socket.on('close', () => resolve(/^HTTP\/1\.\d (\d{3})/.exec(answer)?.[1] ?? answer));
      socket.setTimeout(2_000, () => socket.end());
    });
  const paths = ['/livez', '/health?x=1', '/mcp', '/.well-known/oauth-protected-resource'];
  const answers = (headers: string) => Promise.all(paths.map((path) => ask(path, headers)));
  for (const headers of ['', 'Host:\r\n'])
    expect([headers, await answers(headers)]).toEqual([headers, ['200', '200', '400', '400']]);
  expect(await answers('Host: a b\r\n')).toEqual(['400', '400', '400', '400']);
});
