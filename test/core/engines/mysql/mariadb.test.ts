import { openMysql } from '#core/engines/mysql/source.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { sourceSuite } from '../shared/suite.ts';

sourceSuite({
  title: 'MariaDB',
  reachable: reachable.mysql,
  open: openMysql,
  create: () => testDatabase('mysql'),
  numbers: (count) => `select seq as n from seq_1_to_${count}`,
  sleep: (seconds) => `select sleep(${seconds})`,
  first: '?',
  async counts(database) {
    const [row] = await database.run(
      `select count(*) as open, count(info) as busy from information_schema.processlist
       where db = database() and id <> connection_id()`,
    );
    return { open: Number(row?.['open']), busy: Number(row?.['busy']) };
  },
});
