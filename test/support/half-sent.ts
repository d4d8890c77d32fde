import { connect } from 'node:net';
import { until } from './until.ts';

export interface HalfSent {
  /** Whatever was answered so far. */
  text(): string;
  /** Status of the answer; rejects when there is none. */
  status(): Promise<number>;
  /** Resolves when the program has what was sent so far: it answered something that was sent later. */
  arrived(): Promise<void>;
  send(rest: string): void;
  close(): void;
}

/** A request whose body is on its way: its head was sent, and as much of its body as is given. */
export async function halfSent(url: string | URL, headers: Readonly<Record<string, string>>, part: string): Promise<HalfSent> {
  const { hostname, port, pathname, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  await new Promise((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  let answer = '';
  socket.on('data', (data) => {
    answer += data.toString();
  });
  // Who is refused early may find the line closed.
  socket.on('error', () => undefined);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${part}`);
  return {
    text: () => answer,
    async status() {
      await until(() => answer.includes('\r\n'));
      return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
    },
    async arrived() {
      const response = await fetch(new URL('/livez', url));
      await response.body?.cancel();
    },
    send: (rest) => void socket.write(rest),
    close: () => socket.destroy(),
  };
}
