import { AppError, invalidField } from '#core/errors.ts';
import type { ConnectionSettings, DialPolicy } from './source.ts';
import { resolveSqliteFile } from './sqlite-file.ts';

/**
 * What can be said of a connection when it is saved: the file exists where files may be, the address is allowed. A name that
 * does not resolve now is no refusal; every dial checks again.
 */
export async function checkTarget(
  settings: Pick<ConnectionSettings, 'db_type' | 'host' | 'port' | 'database'>,
  policy: DialPolicy,
): Promise<void> {
  if (settings.db_type === 'sqlite') {
    try {
      resolveSqliteFile(settings.database, policy);
    } catch (error) {
      throw error instanceof AppError ? invalidField('database', error.detail) : error;
    }
    return;
  }
  if (settings.host === null) return;
  try {
    const { resolveTarget } = await import('./dial.ts');
    await resolveTarget(settings.host, settings.port ?? 0, policy, settings.database);
  } catch (error) {
    if (error instanceof AppError && error.code === 'database_unreachable') return;
    throw error;
  }
}
