import { expect } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { connectHost } from '#test/support/host.ts';
import { testOnce } from '#test/support/metadata.ts';
import { openTcpProxy, type ProxiedConnection } from '#test/support/tcp-proxy.ts';

testOnce(reachable.postgres)(
  'a deploy whose commit was not answered is served, and no error is kept of it',
  async () => {
    const database = await testDatabase('postgresql');
    const { host, port } = database.settings;
    /** The prepared statement by which a connection commits. */
    const names = new Map<ProxiedConnection, string>();
    const storing = new Set<ProxiedConnection>();
    const committing = new Set<ProxiedConnection>();
    const proxy = await openTcpProxy(
      { host: String(host), port: Number(port) },
      {
        toServer(bytes, connection) {
          const text = bytes.toString('latin1');
          const named = /(\w+)\0commit\0/i.exec(text)?.[1];
          if (named !== undefined) names.set(connection, named);
          if (text.includes('insert into "snapshots"')) storing.add(connection);
          const name = names.get(connection);
          if (storing.has(connection) && name !== undefined && text.includes(name)) committing.add(connection);
          return bytes;
        },
        // The server has done it; nobody hears so.
        toClient: (bytes, connection) => (committing.has(connection) ? null : bytes),
      },
    );
    let t: TestApp | undefined;
    try {
      t = await testApp({}, database.url.replace(`:${port}/`, `:${proxy.port}/`));
      await t.signIn();
      connectHost(t.app);
      const answer = await t.send('deploy.run', { note: 'first' });
      expect([committing.size, answer.status, answer.body.snapshot_version]).toEqual([1, 200, 1]);
      const body = await t.call('deploy.status', {});
      expect(body).toMatchObject({ status: 'running', snapshot_version: 1, last_error: null, hosts: [{ snapshot_version: 1 }] });
    } finally {
      await t?.close();
      await proxy.close();
      await database.drop();
    }
  },
  60_000,
);
