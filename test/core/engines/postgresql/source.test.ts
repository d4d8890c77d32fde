import { openPostgres } from '#core/engines/postgresql/source.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { sourceSuite } from '../shared/suite.ts';

sourceSuite({
  title: 'PostgreSQL',
  reachable: reachable.postgres,
  open: openPostgres,
  create: () => testDatabase('postgresql'),
  numbers: (count) => `select n from generate_series(1, ${count}) as n`,
  sleep: (seconds) => `select 1 from pg_sleep(${seconds})`,
  first: '$1',
  async counts(database) {
    const [row] = await database.run(
      `select count(*)::int as open, (count(*) filter (where state = 'active'))::int as busy
       from pg_stat_activity where datname = current_database() and application_name = 'sluice'`,
    );
    return { open: Number(row?.['open']), busy: Number(row?.['busy']) };
  },
});
