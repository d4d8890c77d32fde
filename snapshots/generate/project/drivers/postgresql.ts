import { createPostgresRunner } from '#core/engines/postgresql/runner.ts';
import { AppError } from '#core/errors.ts';
import type { Database, NetworkSettings } from '../definitions.ts';
import { optionsOf, POLICY } from './policy.ts';

/** PostgreSQL. Reads are rolled back. Sessions are reset between calls, so no lock, setting or temporary table carries over. */
export function openPostgresql(settings: NetworkSettings): Database {
  const runner = createPostgresRunner(settings, POLICY);
  return {
    async query(statement, limits) {
      const result = await runner.run(statement, optionsOf(limits));
      if (result === null) throw new AppError('internal', 'The database returned no result.');
      return result;
    },
    close: () => runner.pool.close(),
  };
}
