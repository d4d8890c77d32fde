import { asJson } from '#core/engines/sqlite/placeholder.ts';
import { createLibsqlRunner } from '#core/engines/libsql/runner.ts';
import { AppError } from '#core/errors.ts';
import type { Database, NetworkSettings } from '../definitions.ts';
import { optionsOf } from './policy.ts';
import { send } from './send.ts';

type LibsqlSettings = Omit<NetworkSettings, 'host' | 'port' | 'database' | 'username' | 'password'> & {
  readonly url: string;
  readonly token: string;
};

/** A libSQL server over HTTP. */
export function openLibsql({ url, token, ...settings }: LibsqlSettings): Database {
  if (!URL.canParse(url)) throw new AppError('internal', 'The URL of a libSQL server is invalid; write it as https://host:port.');
  const { protocol, hostname, port } = new URL(url);
  const address = { host: hostname, port: port === '' ? null : Number(port), password: token === '' ? null : token };
  const is_plain = protocol === 'http:' || protocol === 'ws:';
  const ssl_mode = is_plain ? 'disable' : settings.ssl_mode === 'disable' ? null : settings.ssl_mode;
  const runner = createLibsqlRunner({ ...settings, ...address, ssl_mode }, send);
  return {
    placeholder: (_number, _element, type) => asJson('?', type),
    query: (statement, limits) => runner.query(statement, optionsOf(limits)),
    close: runner.close,
  };
}
