import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** Debian keeps servers where a user's PATH does not look. */
export const pgbouncer = Bun.which('pgbouncer', { PATH: [process.env['PATH'] ?? '', '/usr/sbin'].join(delimiter) });

export interface PgBouncer {
  readonly port: number;
  stop(): Promise<void>;
}

const opens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

/** PgBouncer with the settings that it has by default, before the PostgreSQL of the tests. */
export async function startPgBouncer(pool_mode: 'session' | 'transaction', target: string): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pgbouncer-'));
  const port = freePort();
  const { hostname, port: database_port } = new URL(target);
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${database_port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
auth_type = any
unix_socket_dir =
pool_mode = ${pool_mode}
`.replace('* = host', '* = user=postgres host'),
  );
  chmodSync(folder, 0o755);
  chmodSync(file, 0o644);
  // It does not run as root.
  const as_user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = Bun.spawn([pgbouncer ?? '', ...as_user, file], { stdout: 'ignore', stderr: 'ignore' });
  await until(() => opens(port));
  return {
    port,
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
