import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { openTunnelled } from '#core/engines/shared/tunnel/tunnelled-source.ts';
import { READ, refusal, sql } from '#test/core/engines/shared/suite.ts';
import { type Authority, createAuthority } from '#test/support/certificates.ts';
import { localPolicy, settingsOf } from '#test/support/databases.ts';
import { canCreateCluster, type Cluster, createCluster, PASSWORD } from '#test/support/postgres-cluster.ts';
import { createKey, type SshServer, sshd_is_here, startSshServer } from '#test/support/ssh-server.ts';

describe.skipIf(!canCreateCluster || !sshd_is_here)('TLS behind an SSH server', () => {
  let authority: Authority;
  let cluster: Cluster;
  let server: SshServer;
  const opened: Source[] = [];
  beforeAll(async () => {
    authority = await createAuthority('behind');
    cluster = await createCluster(authority.ca, await authority.issue('DNS:localhost'));
    server = await startSshServer(createKey());
  });
  afterAll(async () => {
    await Promise.all(opened.map((source) => source.close()));
    await server.close();
    await cluster.remove();
    await authority.remove();
  });

  function open(changes: Partial<ConnectionSettings>): Source {
    const settings = { ...settingsOf('postgresql', 'postgres', 'postgres'), port: cluster.port, password: PASSWORD, ...changes };
    const source = openTunnelled({ ...server.hop, jump: [] }, localPolicy, (policy) => openPostgres(settings, policy));
    opened.push(source);
    return source;
  }

  test('a session is verified by the name in the certificate of the database (needs sshd)', async () => {
    const source = open({ host: 'localhost', ssl_mode: 'verify-full', ssl_ca: authority.ca });
    const { rows } = await source.query(sql('select ssl from pg_stat_ssl where pid = pg_backend_pid()'), READ);
    expect(rows).toEqual([{ ssl: true }]);
    expect((await refusal(source.query(sql('select pg_sleep(30)'), { ...READ, timeout_ms: 300 }))).code).toBe('timeout');
    const other = open({ host: '127.0.0.1', ssl_mode: 'verify-full', ssl_ca: authority.ca });
    expect((await refusal(other.query(sql('select 1'), READ))).reason).toBe('tls_failed');
  });

  test('without a mode a session is encrypted when the database offers TLS (needs sshd)', async () => {
    const { rows } = await open({ ssl_mode: null }).query(sql('select ssl from pg_stat_ssl where pid = pg_backend_pid()'), READ);
    expect(rows).toEqual([{ ssl: true }]);
  });
});
