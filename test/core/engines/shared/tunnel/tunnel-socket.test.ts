import { expect, test } from 'bun:test';
import { Duplex } from 'node:stream';
import { TunnelSocket } from '#core/engines/shared/tunnel/tunnel-socket.ts';

/** A channel as ssh2 makes it: `close` follows `end`, also while the socket still has what came before. */
function channelThatSays(text: string): Duplex {
  const channel = new Duplex({
    emitClose: false,
    read: () => undefined,
    write: (_chunk, _encoding, done) => done(),
  });
  channel.once('end', () => channel.emit('close'));
  channel.push(text);
  channel.push(null);
  return channel;
}

test('what a server says before it hangs up is read, also by a reader that comes late', async () => {
  for (const waits of [0, 1, 5]) {
    const socket = new TunnelSocket(channelThatSays('no such database'));
    socket.read(0);
    for (let n = 0; n < waits; n++) await new Promise((resolve) => setImmediate(resolve));
    const { promise, resolve } = Promise.withResolvers<string>();
    let heard = '';
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.toString();
    });
    socket.once('close', () => resolve(heard));
    expect([waits, await promise]).toEqual([waits, 'no such database']);
    expect(socket.destroyed).toBe(true);
  }
});

test('a channel that closes without an end closes the socket', async () => {
  const channel = new Duplex({ emitClose: false, read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const socket = new TunnelSocket(channel);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.resume();
  channel.emit('close');
  await closed;
  expect(socket.destroyed).toBe(true);
});
