import net from 'node:net';

export interface HostileServer {
  readonly port: number;
  /** Connections that are open now. */
  connections(): number;
  close(): Promise<void>;
}

type Talk = (socket: net.Socket) => void;

export async function openHostileServer(talk: Talk): Promise<HostileServer> {
  const open = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
    talk(socket);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    connections: () => open.size,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A megabyte at a time, for as long as somebody reads. */
export function pour(socket: net.Socket, chunk: Buffer = Buffer.alloc(1024 * 1024, 'x')): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

/** Megabytes by which the program grew at most while the work was done. */
export async function grownBy(work: () => Promise<unknown>): Promise<number> {
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  let most = before;
  const look = () => void (most = Math.max(most, process.memoryUsage.rss()));
  const watch = setInterval(look, 5);
  await work();
  clearInterval(watch);
  look();
  return (most - before) / 1024 / 1024;
}
