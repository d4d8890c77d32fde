import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import { freePort } from './free-port.ts';

export interface TemporaryMariadb {
  readonly port: number;
  run(text: string): Promise<void>;
  stop(): Promise<void>;
}

/** Whether this machine can start MariaDB servers of its own; required when CI=true. */
export const canStartMariadb = Bun.which('mariadbd') !== null && Bun.which('mariadb-install-db') !== null;
if (!canStartMariadb && process.env['CI'] === 'true') throw new Error('mariadbd and mariadb-install-db are not installed');

/** A MariaDB server on a free port of 127.0.0.1, with root and no password, in a folder of its own. */
export async function startMariadb(
  options: readonly string[],
  files: Readonly<Record<string, string>>,
): Promise<TemporaryMariadb> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-mariadb-'));
  const data = join(folder, 'data');
  const user = `--user=${Bun.spawnSync(['id', '-un']).stdout.toString().trim()}`;
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
  const install = ['mariadb-install-db', '--no-defaults', user, `--datadir=${data}`, '--auth-root-authentication-method=normal'];
  // A server that starts removes all temporary tables of its folder, those of another one included.
  const env = { ...process.env, TMPDIR: folder };
  const installer = Bun.spawn([...install, '--skip-test-db'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = await Promise.all([new Response(installer.stdout).text(), new Response(installer.stderr).text()]);
  if ((await installer.exited) !== 0) throw new Error(`mariadb-install-db failed: ${said.join('')}`);
  const port = freePort();
  const place = [`--datadir=${data}`, `--port=${port}`, '--bind-address=127.0.0.1', `--socket=${folder}/socket`];
  const small = ['--innodb-buffer-pool-size=8M', '--innodb-log-file-size=4M', '--performance-schema=0', '--skip-name-resolve'];
  const chosen = options.map((option) => option.replace('$folder', folder));
  const server = Bun.spawn(['mariadbd', '--no-defaults', user, ...place, ...small, ...chosen], {
    env,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const admin = await connectSoon(`${folder}/socket`);
  return {
    port,
    run: async (text) => void (await admin.query(text)),
    async stop() {
      admin.destroy();
      server.kill('SIGTERM');
      await server.exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function connectSoon(socketPath: string): Promise<mysql.Connection> {
  for (const end = Date.now() + 20_000; ;) {
    try {
      return await mysql.createConnection({ socketPath, user: 'root' });
    } catch (error) {
      if (Date.now() > end) throw error;
      await Bun.sleep(50);
    }
  }
}
