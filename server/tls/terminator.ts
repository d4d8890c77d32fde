import net from 'node:net';
import tls from 'node:tls';

export interface Handshake {
  /** PEM, the leaf first. */
  readonly chain: string;
  readonly key: string;
  /** Older versions of TLS are refused. */
  readonly min_tls_version: '1.2' | '1.3';
}

/** Accepts TLS connections and forwards their content to a listener of this process. */
export interface Terminator {
  readonly port: number;
  /** Uses another certificate or version from the next handshake on. Open connections continue. */
  use(next: Handshake): void;
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
export function openTerminator(first: Handshake, options: TerminatorOptions): Promise<Terminator> {
  const { hostname, port, target, tunnels, handshake_ms = 15_000 } = options;
  let context = tls.createSecureContext(secureOptions(first));
  const open = new Set<net.Socket>();
  const server = tls.createServer(
    {
      ...secureOptions(first),
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
          context = tls.createSecureContext(secureOptions(next));
          // For clients that name no host.
          server.setSecureContext(secureOptions(next));
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

const secureOptions = ({ chain, key, min_tls_version }: Handshake): tls.SecureContextOptions => ({
  cert: chain,
  key,
  minVersion: `TLSv${min_tls_version}`,
});
