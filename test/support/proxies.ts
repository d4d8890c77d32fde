import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Debian keeps servers where a user's PATH does not look. */
const pathOf = (name: string): string | null =>
  Bun.which(name, { PATH: [process.env['PATH'] ?? '', '/usr/sbin'].join(delimiter) });

export const haproxy = pathOf('haproxy');
export const nginx = pathOf('nginx');
export const caddy = pathOf('caddy');

export interface Proxy {
  readonly directory: string;
  stop(): Promise<void>;
}

/** Runs a proxy in the foreground. @param config is written to a file of its folder. @param args name that file. */
export async function startProxy(
  program: string,
  config: (directory: string) => string,
  args: (file: string) => string[],
): Promise<Proxy> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-proxy-'));
  const file = join(directory, 'proxy.conf');
  writeFileSync(file, config(directory));
  const child = Bun.spawn([program, ...args(file)], { stdout: 'ignore', stderr: 'ignore' });
  return {
    directory,
    async stop() {
      child.kill('SIGTERM');
      await child.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** HAProxy with further sections, whose state is read as CSV. */
export async function startHaproxy(program: string, stats_port: number, backends: string) {
  const config = `
global
  maxconn 100
defaults
  mode http
  timeout connect 2s
  timeout client 5s
  timeout server 5s
  timeout check 5s
listen stats
  bind 127.0.0.1:${stats_port}
  stats enable
  stats uri /stats
${backends}
`;
  const proxy = await startProxy(
    program,
    () => config,
    (file) => ['-f', file, '-db'],
  );
  return {
    ...proxy,
    /** What the last check of each backend's server found, by name of the backend; L7OK: a status below 400. */
    async checks(): Promise<Record<string, string>> {
      const answer = await fetch(`http://127.0.0.1:${stats_port}/stats;csv`).catch(() => null);
      const rows = (await answer?.text())?.split('\n').map((line) => line.split(',')) ?? [];
      const at = rows[0]?.indexOf('check_status') ?? -1;
      return Object.fromEntries(rows.filter(([, name]) => name === 's').map((row) => [row[0], row[at] ?? '']));
    },
  };
}

/** nginx with one server. @param inner stands in its location `/`. */
export const startNginx = (program: string, port: number, target: string, inner: string): Promise<Proxy> =>
  startProxy(
    program,
    (directory) => `
daemon off;
pid ${directory}/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${target};
      ${inner}
    }
  }
}
`,
    (file) => ['-c', file, '-e', 'stderr'],
  );
