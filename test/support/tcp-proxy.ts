import net from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** Cuts every connection that is open now. */
  cut(): void;
  close(): Promise<void>;
}

export interface ProxyRules {
  /** Bytes on their way to the server: what it answers is sent on, null cuts the connection. */
  readonly toServer?: (bytes: Buffer, connection: ProxiedConnection) => Buffer | null;
  readonly toClient?: (bytes: Buffer, connection: ProxiedConnection) => Buffer | null;
}

export interface ProxiedConnection {
  readonly client: net.Socket;
  readonly server: net.Socket;
  /** Chunks that came from the client so far. */
  sent: number;
}

/** Stands between a test and a real server, and does to their bytes what the rules say. */
export async function openTcpProxy(target: { host: string; port: number }, rules: ProxyRules = {}): Promise<TcpProxy> {
  const open = new Set<net.Socket>();
  const proxy = net.createServer((client) => {
    const server = net.connect(target);
    const connection: ProxiedConnection = { client, server, sent: 0 };
    const end = () => {
      client.destroy();
      server.destroy();
    };
    const pass = (to: net.Socket, bytes: Buffer | null) => (bytes === null ? end() : void (bytes.length > 0 && to.write(bytes)));
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on('error', end);
      socket.on('close', () => {
        open.delete(socket);
        end();
      });
    }
    client.on('data', (bytes: Buffer) => {
      connection.sent++;
      pass(server, rules.toServer ? rules.toServer(bytes, connection) : bytes);
    });
    server.on('data', (bytes: Buffer) => pass(client, rules.toClient ? rules.toClient(bytes, connection) : bytes));
  });
  proxy.listen(0, '127.0.0.1');
  await new Promise((resolve) => proxy.once('listening', resolve));
  const address = proxy.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    cut() {
      for (const socket of open) socket.destroy();
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

/** A server that sends `greeting`, and `answer` to the first bytes it gets, and then says nothing. */
export async function openStrangeServer(greeting: string | Buffer, answer: string | Buffer): Promise<TcpProxy> {
  const open = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    if (greeting.length > 0) socket.write(greeting);
    socket.once('data', () => void (answer.length > 0 && socket.write(answer)));
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    cut,
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
