import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { HopOf } from '#core/contract/definitions/connection-fields.ts';
import { dialSocket, resolveTarget } from '#core/engines/shared/dial.ts';
import { localPolicy } from './databases.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const sshd = Bun.which('sshd', { PATH: [process.env['PATH'] ?? '', '/usr/sbin'].join(delimiter) });

/** Tests without Debian's openssh-server are skipped by name. */
export const sshd_is_here = sshd !== null && Bun.which('ssh-keygen') !== null;

export interface KeyPair {
  readonly private_key: string;
  readonly public_key: string;
  /** As `ssh-keygen -lf` shows it. */
  readonly fingerprint: string;
}

/** Keys as `ssh-keygen` writes them. */
export function createKey(passphrase = ''): KeyPair {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-key-'));
  try {
    const file = join(folder, 'key');
    run('ssh-keygen', '-q', '-t', 'ed25519', '-a', '1', '-N', passphrase, '-C', 'test', '-f', file);
    const fingerprint = run('ssh-keygen', '-lf', `${file}.pub`).split(' ')[1] ?? '';
    return { private_key: readFileSync(file, 'utf8'), public_key: readFileSync(`${file}.pub`, 'utf8'), fingerprint };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An OpenSSH server of a test, which lets in the account that runs the tests. */
export interface SshServer {
  readonly port: number;
  readonly fingerprint: string;
  /** How to sign in. */
  readonly hop: HopOf<string>;
  /** Process ids of its connections. */
  connections(): number[];
  /** Sends a signal to all of its connections, or kills it with them. */
  signal(name: NodeJS.Signals): void;
  /** Ends the server and its connections. */
  stop(): Promise<void>;
  /** Starts it again on the same port, with another host key if one is given. */
  start(host_key?: KeyPair): Promise<void>;
  close(): Promise<void>;
}

/** @param options lines of sshd_config, before the others. */
export async function startSshServer(user: KeyPair, ...options: string[]): Promise<SshServer> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-ssh-'));
  const port = freePort();
  const first_key = createKey();
  // sshd of root wants it, and Debian creates it with the service.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const put = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 });
  put('authorized_keys', user.public_key);
  put(
    'config',
    [
      ...options,
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${join(folder, 'host')}`,
      `AuthorizedKeysFile ${join(folder, 'authorized_keys')}`,
      'PidFile none',
      'StrictModes no',
      'UsePAM no',
      'PermitRootLogin yes',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'MaxStartups 100',
      'LogLevel QUIET',
      '',
    ].join('\n'),
  );
  let child: Bun.Subprocess | null = null;
  const connections = (): number[] => (child === null ? [] : descendants(child.pid));
  const hop = {
    host: '127.0.0.1',
    port,
    username: run('id', '-un').trim(),
    private_key: user.private_key,
    passphrase: null,
    password: null,
  };
  const server: SshServer = {
    port,
    fingerprint: first_key.fingerprint,
    hop: { ...hop, host_key: first_key.fingerprint },
    connections,
    signal(name) {
      for (const pid of connections()) send(pid, name);
    },
    async stop() {
      const [stopped, all] = [child, connections()];
      child = null;
      stopped?.kill('SIGKILL');
      for (const pid of all) send(pid, 'SIGKILL');
      await stopped?.exited;
    },
    async start(host_key = first_key) {
      put('host', host_key.private_key);
      child = Bun.spawn([sshd ?? '', '-D', '-e', '-f', join(folder, 'config')], {
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'ignore',
      });
      const target = await resolveTarget('127.0.0.1', port, localPolicy);
      await until(async () => {
        const socket = await dialSocket(target).catch(() => null);
        socket?.destroy();
        return socket !== null;
      });
    },
    async close() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

/** A process may have ended with its parent. */
function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function descendants(pid: number): number[] {
  const found = Bun.spawnSync(['ps', '-o', 'pid=', '--ppid', String(pid)]).stdout.toString();
  const children = found.split('\n').map(Number).filter(Boolean);
  return children.flatMap((child) => [...descendants(child), child]);
}

function run(...command: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command);
  if (exitCode !== 0) throw new Error(`${command[0]}: ${stderr.toString()}`);
  return stdout.toString();
}
