import net from 'node:net';
import tls from 'node:tls';

export interface KeyPair {
  /** PEM, the leaf first. */
  readonly chain: string;
  readonly key: string;
}

/** Takes TLS connections and passes what they carry to a listener of this process. */
export interface Terminator {
  readonly port: number;
  /** From the next handshake on another certificate is shown. Connections that are open go on. */
  use(pair: KeyPair): void;
  /** Takes no more connections; ends those that are still open when `grace` is over. */
  close(grace: Promise<unknown>): Promise<void>;
}

export interface TerminatorOptions {
  readonly hostname: string;
  readonly port: number;
  /** Port on 127.0.0.1 that is passed to. */
  readonly target: number;
  /** The clients' addresses, by the port that their connection comes to the target from. */
  readonly tunnels: Map<number, string>;
  /** Who has not finished its handshake by then is let go. */
  readonly handshake_ms?: number;
}

/**
 * `Bun.serve` keeps the certificate that it began with, and a second one on the same port loses the connections that wait at the
 * first while it closes. So TLS ends here: a swap is one assignment. Rejects with the system's error when the port cannot be had.
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
    // Nothing is passed on before it is known whose connection it is.
    inner.on('connect', () => {
      if (address === undefined || inner.localPort === undefined || client.destroyed) return end();
      local = inner.localPort;
      tunnels.set(local, address);
      client.pipe(inner);
      inner.pipe(client);
    });
  };

  // Whoever speaks no TLS, or nothing at all.
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
