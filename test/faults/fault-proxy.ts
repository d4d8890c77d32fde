import net from 'node:net';

/** What a network can do to a connection that was fine a moment ago, or to a new one. */
export type Fault = 'none' | 'latency' | 'slow_handshake' | 'half_open' | 'reset' | 'garbage' | 'refused';

export const FAULTS = [
  'latency',
  'slow_handshake',
  'half_open',
  'reset',
  'garbage',
  'refused',
] as const satisfies readonly Fault[];

const LATENCY_MS = 150;
const HANDSHAKE_MS = 1_500;

export interface FaultProxy {
  readonly port: number;
  /** Holds for new connections and for those that are open. */
  use(fault: Fault): void;
  close(): Promise<void>;
}

/** Stands between a program and a real server and does to them what networks do. */
export async function openFaultProxy(target: { host: string; port: number }): Promise<FaultProxy> {
  let fault: Fault = 'none';
  const open = new Set<net.Socket>();

  const later = (ms: number, work: () => void) => void setTimeout(work, ms).unref();
  const onBytes: Record<Fault, (to: net.Socket, from: net.Socket, bytes: Buffer) => void> = {
    none: (to, _, bytes) => void to.write(bytes),
    latency: (to, _, bytes) => later(LATENCY_MS, () => to.destroyed || to.write(bytes)),
    slow_handshake: (to, _, bytes) => void to.write(bytes),
    half_open: () => undefined,
    reset: (to, from) => {
      to.resetAndDestroy();
      from.resetAndDestroy();
    },
    garbage: (to, _, bytes) => void to.write(Buffer.alloc(bytes.length, 0x5a)),
    refused: (to, from) => {
      to.destroy();
      from.destroy();
    },
  };

  const proxy = net.createServer((client) => {
    if (fault === 'refused' || fault === 'reset') {
      client.resetAndDestroy();
      return;
    }
    const server = net.connect(target);
    const pairs = [
      [client, server],
      [server, client],
    ] as const;
    for (const [from, to] of pairs) {
      open.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
      if (fault === 'slow_handshake') {
        from.pause();
        later(HANDSHAKE_MS, () => from.resume());
      }
      from.on('data', (bytes: Buffer) => onBytes[fault](to, from, bytes));
    }
  });
  proxy.listen(0, '127.0.0.1');
  await new Promise((resolve) => proxy.once('listening', resolve));
  const address = proxy.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    use(next) {
      fault = next;
      if (next === 'reset' || next === 'refused') for (const socket of open) socket.resetAndDestroy();
      // What was swallowed cannot be made good: a connection that misses bytes is of no use.
      if (next === 'none') for (const socket of open) socket.destroy();
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
