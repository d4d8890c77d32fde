import { expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { receiveFile } from '#core/definitions/files/upload.ts';
import { openLink, sendCancel } from '#core/engines/postgresql/link.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { secureSocket } from '#core/engines/shared/tls.ts';
import { askSession } from '#mcp-host/call/confirmation/ask-session.ts';
import { localPolicy, settingsOf } from '#test/support/databases.ts';

/** An abort is heard by listeners alone: whoever comes to a signal that is aborted already must look. */
const LEFT = new Error('The caller left.');
const QUICKLY_MS = 2_000;

async function quickly<T>(work: Promise<T>): Promise<T | 'waits'> {
  return Promise.race([work, Bun.sleep(QUICKLY_MS).then(() => 'waits' as const)]);
}

/** A server that accepts and says nothing, and a signal that is aborted as soon as somebody is connected to it. */
async function silence() {
  const server = net.createServer((socket) => socket.on('error', () => undefined));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  const left = new AbortController();
  const dial = async () => {
    const socket = net.connect({ host: '127.0.0.1', port });
    await new Promise((resolve) => socket.once('connect', resolve));
    left.abort(LEFT);
    return socket;
  };
  const nothing = () => Promise.reject(new Error('Nothing else is asked.'));
  const policy: DialPolicy = { ...localPolicy, network: { fetch: nothing, sockets: { dial, secure: nothing } } };
  return { dial, policy, signal: left.signal, settings: settingsOf('postgresql', 'postgres', 'x'), stop: () => server.close() };
}

test('a database that was dialled for nobody is not asked whether it encrypts', async () => {
  const { policy, signal, settings, stop } = await silence();
  expect(await quickly(openLink(settings, policy, signal).catch((error: unknown) => error))).toBe(LEFT);
  stop();
});

test('a cancel request for which there is no time left is given up', async () => {
  const { policy, signal, settings, stop } = await silence();
  const plain = { ...settings, ssl_mode: 'disable' as const };
  expect(await quickly(sendCancel(plain, policy, { pid: 1, secret: 1 }, signal).then(() => 'ended'))).toBe('ended');
  stop();
});

test('a connection is not encrypted for nobody', async () => {
  const { dial, signal, settings, stop } = await silence();
  const secured = secureSocket(await dial(), { ...settings, ssl_mode: 'require' }, signal);
  expect(await quickly(secured.catch((error: unknown) => error))).toBe(LEFT);
  stop();
});

test('a file whose sender left before it was read is refused, and nothing of it stays', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-upload-'));
  const body = new ReadableStream<Uint8Array>();
  const call = { body, body_bytes: null, app: { ids: () => 'id' }, signal: AbortSignal.abort(LEFT) };
  const upload = {
    folder,
    target: join(folder, 'a.csv'),
    max_bytes: 10,
    quota: 10,
    used: () => 0,
    accept: () => Promise.resolve(),
    replace: (move: () => Promise<void>) => move(),
  };
  const received = receiveFile(call, upload).catch((error: unknown) => error);
  expect(await quickly(received)).toMatchObject({ code: 'cancelled' });
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
});

test('nobody is asked whose call has ended', async () => {
  const asking = { deadline: AbortSignal.abort(LEFT), record: { person_wait_ms: 0, waits_for_person: false } };
  const stream = { left: new AbortController().signal, send: () => undefined };
  const elsewhere = { expect: () => () => undefined, hand: () => undefined };
  const [context, ask, session] = [asking, stream, { asked: new Map() }] as unknown as [
    Parameters<typeof askSession>[0],
    Parameters<typeof askSession>[1],
    Parameters<typeof askSession>[2],
  ];
  expect(await quickly(askSession(context, ask, session, {}, { elsewhere }))).toBe('timeout');
});
