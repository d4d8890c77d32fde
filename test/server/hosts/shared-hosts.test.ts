import { expect } from 'bun:test';
import type { Acknowledgement } from '#core/contract/deploy/control.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { testOnce } from '#test/support/metadata.ts';
import { listeningServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

const ack = (version: number): Acknowledgement => ({
  boot_id: 'b',
  version,
  checksum: `sha256:${version}`,
  load_ms: 1,
  url: null,
  error: null,
  request_id: null,
});

testOnce(reachable.postgres)(
  'an answer of a host while the database was away reaches the other servers once it is back',
  async () => {
    const database = await testDatabase('postgresql');
    const first = await listeningServer(database.url);
    const second = await listeningServer(database.url);
    const seen = () => second.server.app.hosts.list().map(({ id, snapshot_version }) => [id, snapshot_version]);
    try {
      const { hosts } = first.server.app;
      const origin = { address: '192.0.2.7', program_version: '1.2.3' };
      const leave = hosts.connect('h1', () => undefined, null, origin);
      hosts.acknowledge('h1', ack(1));
      await until(() => Bun.deepEquals(seen(), [['h1', 1]]));
      expect(second.server.app.hosts.list()).toMatchObject([origin]);
      await database.run(`create function refuse() returns trigger language plpgsql as $$ begin raise 'away'; end $$`);
      await database.run(`create trigger away before update of acks on hosts for each row execute function refuse()`);
      hosts.acknowledge('h1', ack(2));
      await hosts.settled();
      await database.run('drop trigger away on hosts');
      await until(() => Bun.deepEquals(seen(), [['h1', 2]]));
      // The same of one that another server took.
      await database.run(`create trigger away before update of acks on hosts for each row execute function refuse()`);
      second.server.app.hosts.acknowledge('h1', ack(3));
      await second.server.app.hosts.settled();
      await database.run('drop trigger away on hosts');
      await until(() => hosts.list()[0]?.snapshot_version === 3 && hosts.local().get('h1')?.ack?.version === 3);
      // The same after so long that no server has said that the host is there.
      await database.run('update hosts set seen_at = seen_at - 30');
      await database.run(`create trigger away before update of acks, seen_at on hosts for each row execute function refuse()`);
      second.server.app.hosts.acknowledge('h1', ack(5));
      await second.server.app.hosts.settled();
      await until(() => seen().length === 0);
      await database.run('drop trigger away on hosts');
      await until(() => hosts.local().get('h1')?.ack?.version === 5);
      // Nothing of it is told twice.
      hosts.acknowledge('h1', ack(6));
      await until(() => Bun.deepEquals(seen(), [['h1', 6]]));
      expect(await database.run('select acks from hosts')).toEqual([{ acks: 5 }]);
      leave();
    } finally {
      await second.stop();
      await first.stop();
      await database.drop();
    }
  },
  60_000,
);
