import net from 'node:net';
import tls from 'node:tls';

export interface KeyPair {
  /** PEM, the leaf first. */
  readonly chain: string;
  readonly key: string;
}

/** Accepts TLS connections and forwards their content to a listener of this process. */
export interface Terminator {
  readonly port: number;
  /** Uses another certificate from the next handshake on. Open connections continue. */
  use(pair: KeyPair): void;
  /** Accepts no more connections; ends those that are still open when `grace` is over. */
  close(grace: Promise<unknown>): Promise<void>;
}

export interface TerminatorOptions {
  readonly hostname: string;
  readonly port: number;
  /** Port on 127.0.0.1 to forward to. */
  readonly target: number;
  /** Addresses of the clients, by the local port of the connection to the target. */
  readonly tunnels: Map<number, string>;
  /** Connections without a finished handshake are closed after this time. */
  readonly handshake_ms?: number;
}

/**
 * `Bun.serve` cannot replace its certificate, and a second server on the same port loses the connections that wait at the first
 * while it closes. So TLS ends here: a swap is one assignment. Rejects with the system's error when the port is unavailable.
 */
export function openTerminator(pair: KeyPair, options: TerminatorOptions): Promise<Terminator> {
  const { hostname, port, target, tunnels, handshake_ms = 15_000 } = options;
  let context = contextOf(pair);
  const open = new Set<net.Socket>();
  const server = tls.createServer(
    {
      cert: pair.chain,
      key: pair.key,
      minVersion: 'TLSv1.2',
      handshakeTimeout: handshake_ms,
      ALPNProtocols: ['http/1.1'],
      SNICallback: (_name, done) => done(null, context),
    },
    (client) => tunnel(client),
  );

  const tunnel = (client: tls.TLSSocket): void => {
    const address = client.remoteAddress;
    const inner = net.connect({ host: '127.0.0.1', port: target });
    let local: number | undefined;
    const end = (): void => {
      open.delete(client);
      if (local !== undefined) tunnels.delete(local);
      local = undefined;
      client.destroy();
      inner.destroy();
    };
    open.add(client);
    for (const socket of [client, inner]) {
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', end);
    }
    // Forwards nothing before the client's address is known by its port.
    inner.on('connect', () => {
      if (address === undefined || inner.localPort === undefined || client.destroyed) return end();
      local = inner.localPort;
      tunnels.set(local, address);
      client.pipe(inner);
      inner.pipe(client);
    });
  };

  // Clients that do not speak TLS, or send nothing.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: hostname, port }, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      const address = server.address();
      resolve({
        port: typeof address === 'object' && address !== null ? address.port : port,
        use(next) {
          context = contextOf(next);
          // For clients that name no host.
          server.setSecureContext({ cert: next.chain, key: next.key });
        },
        async close(grace) {
          server.close();
          const emptied = async (): Promise<void> => {
            while (open.size > 0) await Bun.sleep(20);
          };
          const all_ended = emptied();
          await Promise.race([all_ended, grace]);
          for (const client of open) client.destroy();
          await all_ended;
        },
      });
    });
  });
}

const contextOf = ({ chain, key }: KeyPair): tls.SecureContext =>
  tls.createSecureContext({ cert: chain, key, minVersion: 'TLSv1.2' });
