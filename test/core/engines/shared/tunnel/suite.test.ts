import { afterAll } from 'bun:test';
import { openMysql } from '#core/engines/mysql/source.ts';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { OpenSource } from '#core/engines/shared/source.ts';
import { openTunnelled } from '#core/engines/shared/tunnel/tunnelled-source.ts';
import { sourceSuite } from '#test/core/engines/shared/suite.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { createKey, sshd_is_here, startSshServer } from '#test/support/ssh-server.ts';

// Everything that a networked source promises holds through an SSH server as well.
const server = sshd_is_here ? await startSshServer(createKey()) : null;
afterAll(() => server?.close());

const through =
  (open: OpenSource): OpenSource =>
  (settings, policy) =>
    server === null
      ? open(settings, policy)
      : openTunnelled({ ...server.hop, jump: [] }, policy, (tunnelled) => open(settings, tunnelled));

async function countsOf(database: TestDatabase, text: string): Promise<{ open: number; busy: number }> {
  const [row] = await database.run(text);
  return { open: Number(row?.['open']), busy: Number(row?.['busy']) };
}

sourceSuite({
  title: 'PostgreSQL through an SSH server (needs sshd)',
  reachable: reachable.postgres && server !== null,
  open: through(openPostgres),
  create: () => testDatabase('postgresql'),
  numbers: (count) => `select n from generate_series(1, ${count}) as n`,
  sleep: (seconds) => `select 1 from pg_sleep(${seconds})`,
  first: '$1',
  counts: (database) =>
    countsOf(
      database,
      `select count(*)::int as open, (count(*) filter (where state = 'active'))::int as busy
       from pg_stat_activity where datname = current_database() and application_name = 'sluice'`,
    ),
});

sourceSuite({
  title: 'MariaDB through an SSH server (needs sshd)',
  reachable: reachable.mysql && server !== null,
  open: through(openMysql),
  create: () => testDatabase('mysql'),
  numbers: (count) => `select seq as n from seq_1_to_${count}`,
  sleep: (seconds) => `select sleep(${seconds})`,
  first: '?',
  counts: (database) =>
    countsOf(
      database,
      `select count(*) as open, count(info) as busy from information_schema.processlist
       where db = database() and id <> connection_id()`,
    ),
});
