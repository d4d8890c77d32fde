import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { EventEmitter } from 'node:events';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import ssh2 from 'ssh2';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import { openTunnelled } from '#core/engines/shared/tunnel/tunnelled-source.ts';
import { READ, refusal, sql } from '#test/core/engines/shared/suite.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { freePort } from '#test/support/free-port.ts';
import { createKey, sshd_is_here } from '#test/support/ssh-server.ts';

const PASSWORD = 'correct horse';
interface Authentication {
  readonly method: string;
  readonly password: string;
  accept(): void;
  reject(methods: readonly string[]): void;
  prompt(prompts: readonly object[], answer: (answers: readonly string[]) => void): void;
}
type Server = EventEmitter & { listen(port: number, host: string): void; close(): void };
const { Server } = ssh2 as unknown as { readonly Server: new (options: object) => Server };

// OpenSSH checks passwords of the machine's accounts, so this server is that of the library.
describe.skipIf(!sshd_is_here || !reachable.postgres)('an SSH server that accepts no keys', () => {
  const host_key = sshd_is_here ? createKey() : { private_key: '', fingerprint: '' };
  let database: TestDatabase;
  const servers: Server[] = [];
  beforeAll(async () => {
    database = await testDatabase('postgresql');
  });
  afterAll(async () => {
    for (const server of servers) server.close();
    await database.drop();
  });

  /** @param method the only one that signs in. */
  function serve(method: 'password' | 'keyboard-interactive'): number {
    const port = freePort();
    const server = new Server({ hostKeys: [host_key.private_key] });
    server.on('connection', (client: EventEmitter) => {
      client.on('error', () => undefined);
      client.on('authentication', (asked: Authentication) => {
        if (asked.method !== method) return asked.reject([method]);
        const check = (given: string | undefined) => (given === PASSWORD ? asked.accept() : asked.reject([method]));
        if (method === 'password') return check(asked.password);
        asked.prompt([{ prompt: 'Password: ', echo: false }], ([answer]) => check(answer));
      });
      client.on('tcpip', (accept: () => Duplex, _: unknown, { destIP, destPort }: { destIP: string; destPort: number }) => {
        const socket = net.connect(destPort, destIP);
        const channel = accept();
        socket.on('error', () => undefined);
        channel.on('error', () => undefined);
        socket.pipe(channel).pipe(socket);
      });
    });
    server.listen(port, '127.0.0.1');
    servers.push(server);
    return port;
  }

  for (const method of ['password', 'keyboard-interactive'] as const) {
    test(`a password signs in by ${method}, and a wrong one is refused at its field`, async () => {
      const port = serve(method);
      const open = (password: string) =>
        openTunnelled(
          {
            host: '127.0.0.1',
            port,
            username: 'tunnel',
            private_key: null,
            passphrase: null,
            password,
            host_key: host_key.fingerprint,
            jump: [],
          },
          localPolicy,
          (policy) => openPostgres(database.settings, policy),
        );
      const [right, wrong] = [open(PASSWORD), open('wrong')];
      expect((await right.query(sql('select 1 as one'), READ)).rows).toEqual([{ one: 1 }]);
      expect(await refusal(wrong.query(sql('select 1'), READ))).toMatchObject({
        code: 'tunnel_refused',
        reason: 'auth_failed',
        errors: [{ field: 'ssh.password' }],
      });
      await right.close();
      await wrong.close();
    });
  }
});
