import { mysqlPlaceholder } from '#core/engines/mysql/placeholder.ts';
import { createMysqlRunner } from '#core/engines/mysql/run.ts';
import { withDeadline } from '#core/engines/shared/deadline.ts';
import type { Database, NetworkSettings } from '../definitions.ts';
import { optionsOf, POLICY } from './policy.ts';

/** MySQL and MariaDB. Sessions are reset between calls, so no lock, variable or temporary table carries over. */
export function openMysql(settings: NetworkSettings): Database {
  const runner = createMysqlRunner(settings, POLICY);
  return {
    placeholder: mysqlPlaceholder,
    query: (statement, limits) =>
      withDeadline(limits.timeout_ms, limits.signal, (stop) => runner.run(statement, optionsOf(limits), stop)),
    close: () => runner.pool.close(),
  };
}
