import { AppError, invalidField } from '#core/errors.ts';
import type { ConnectionSettings, DialPolicy } from './source.ts';
import { resolveSqliteFile } from '../sqlite/file.ts';

type Settings = Pick<ConnectionSettings, 'db_type' | 'host' | 'port' | 'database'> & {
  /** Sealed when it was stored before; then it was looked at. */
  readonly password?: unknown;
};

/**
 * What can be said of a connection when it is saved: the file exists where files may be, the address is allowed. A name that
 * does not resolve now is no refusal; every dial checks again.
 */
export async function checkTarget(settings: Settings, policy: DialPolicy): Promise<void> {
  if (settings.db_type === 'sqlite') {
    try {
      resolveSqliteFile(settings.database, policy);
    } catch (error) {
      throw error instanceof AppError ? invalidField('database', error.detail) : error;
    }
    return;
  }
  if (settings.db_type === 'libsql') await checkToken(settings.password);
  if (settings.host === null) return;
  const { isHost, resolveTarget } = await import('./dial.ts');
  try {
    await resolveTarget(settings.host, settings.port ?? 0, policy, settings.database);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'database_unreachable') throw error;
    if (!isHost(settings.host)) throw invalidField('host', error.detail);
  }
}

async function checkToken(password: unknown): Promise<void> {
  const { isToken } = await import('../libsql/http.ts');
  if (typeof password === 'string' && !isToken(password)) {
    throw invalidField('password', 'password contains characters that are invalid in a token; send only the token.');
  }
}
