import type { Socket } from 'node:net';
import { AppError } from '#core/errors.ts';
import { type Line, openLine } from '#core/lib/postgres/line.ts';
import { type LoggedIn, login, LoginFault } from '#core/lib/postgres/login.ts';
import { simpleQuery } from '#core/lib/postgres/messages.ts';
import { lastRow } from '#core/lib/postgres/reader.ts';
import { isSessionFault, notPostgres, translateError } from './errors.ts';
import { sessionSettings } from './extras.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { SessionMode } from '#core/engines/shared/source.ts';

export interface SessionStart {
  readonly mode: SessionMode;
  /** True when a pooler in between refuses or ignores settings at login; each transaction sets them instead. */
  readonly plain: boolean;
}

/** Settings of every session, whatever the defaults of the account or the database are. */
const SESSION_SETTINGS = { TimeZone: 'UTC', DateStyle: 'ISO, YMD', extra_float_digits: '3' } as const;
/** Further settings, which not all databases compatible with PostgreSQL accept in a transaction. */
const FURTHER_SETTINGS = { standard_conforming_strings: 'on', IntervalStyle: 'postgres', bytea_output: 'hex' } as const;

/** The settings of a transaction when the login could not set them. */
export const plainSettings = ({
  db_type,
  extra_params,
}: Pick<ConnectionSettings, 'db_type' | 'extra_params'>): Readonly<Record<string, string>> => ({
  ...sessionSettings(extra_params),
  ...SESSION_SETTINGS,
  ...(db_type === 'postgresql' ? FURTHER_SETTINGS : {}),
});

export interface SignedIn {
  readonly line: Line;
  readonly backend: LoggedIn['backend'];
  /** True when the database reports that every transaction of this session is read-only. */
  readonly read_only: boolean;
  /** For example 150004. 0 when it was not queried. */
  readonly version: number;
  /** True when the database can store something in a session that no reset removes. */
  readonly lasting: boolean;
  /** The time limit of the account, the database or the server in milliseconds; 0: none, or not reported. */
  readonly limit_ms: number;
}

const LOGIN_MS = 10_000;
/** State that DISCARD ALL does not remove: connections of postgres_fdw and dblink, and variables of procedural languages. */
const LASTING = `exists (select from pg_catalog.pg_foreign_server)
  or exists (select from pg_catalog.pg_extension where extname operator(pg_catalog.=) 'dblink')
  or exists (select from pg_catalog.pg_language where lanname operator(pg_catalog.<>) all (array['internal', 'c', 'sql', 'plpgsql']::name[]))`;
/** The account's setting before a call changes it. */
const LIMIT = `pg_catalog.current_setting('statement_timeout')`;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
function millisecondsOf(text: string): number {
  const [, digits, unit = 'ms'] = /^(\d+)(ms|s|min|h|d)?$/.exec(text) ?? [];
  return Number(digits ?? 0) * (UNITS[unit] ?? 1);
}

/** Compatible databases get a shorter query, because not all of them know the functions. */
const helloOf = ({ db_type }: ConnectionSettings): string =>
  `select pg_catalog.current_setting('default_transaction_read_only')
    ${db_type === 'postgresql' ? `, pg_catalog.current_setting('server_version_num'), ${LASTING}, ${LIMIT}` : ''}`;
const HUNG_UP = 'The server closed the connection during the login; check the host, the port and ssl_mode.';
const UNSUPPORTED =
  'The database asks for a way to sign in that is not supported; set scram-sha-256, md5 or password for this account in pg_hba.conf.';

/**
 * Logs in and sends the first query. Rejects with `database_unreachable` and its reason, or with the reason of the signal; the
 * socket is then destroyed.
 * @param exceeded called when more bytes of rows arrive than a call may have.
 */
export async function signIn(
  socket: Socket,
  settings: ConnectionSettings,
  start: SessionStart,
  { signal, exceeded }: { readonly signal: AbortSignal; readonly exceeded: () => void },
): Promise<SignedIn> {
  let failure: unknown = null;
  let strange = false;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LOGIN_MS)]);
  const end = () => socket.destroy();
  const fail = (error: unknown) => (failure ??= error);
  if (limit.aborted) end();
  limit.addEventListener('abort', end, { once: true });
  socket.on('error', fail);
  try {
    const { backend, rest } = await login(socket, {
      user: settings.username ?? 'postgres',
      password: settings.password ?? '',
      database: settings.database,
      settings: startupSettings(start, sessionSettings(settings.extra_params)),
    });
    const line = openLine(socket, { exceeded, strange: () => ((strange = true), end()) });
    socket.on('data', (chunk: Buffer) => line.take(chunk)).resume();
    if (rest.length > 0) line.take(rest);
    const row = lastRow();
    await line.exchange(simpleQuery(helloOf(settings)), 'alone', { rows: row });
    const [read_only, version = '0', lasting, limit = await limitOf(line)] = row.cells;
    const limit_ms = millisecondsOf(limit ?? '');
    return { line, backend, read_only: read_only === 'on', version: Number(version), lasting: lasting === 't', limit_ms };
  } catch (error) {
    socket.destroy();
    if (signal.aborted) throw signal.reason;
    if (strange) throw notPostgres();
    if (limit.aborted) throw translateError(Object.assign(new Error('Too late.'), { code: 'CONNECT_TIMEOUT' }), settings);
    throw explain(failure ?? error, settings);
  } finally {
    limit.removeEventListener('abort', end);
  }
}

/** A compatible database without the setting has no limit. */
async function limitOf(line: Line): Promise<string> {
  const row = lastRow();
  try {
    await line.exchange(simpleQuery(`select ${LIMIT}`), 'alone', { rows: row });
  } catch (error) {
    if (isSessionFault(error)) throw error;
  }
  return row.cells[0] ?? '';
}

/** No caller's statement has been sent yet, so any other error is the server's. */
function explain(error: unknown, settings: ConnectionSettings): AppError {
  if (error instanceof LoginFault && error.kind !== 'strange') {
    const is_closed = error.kind === 'closed';
    return new AppError('database_unreachable', is_closed ? HUNG_UP : UNSUPPORTED, {
      reason: is_closed ? 'failed' : 'auth_failed',
    });
  }
  const translated = translateError(error, settings);
  return translated.code === 'internal' ? notPostgres() : translated;
}

function startupSettings({ mode, plain }: SessionStart, extras: Readonly<Record<string, string>>) {
  const { application_name = '' } = extras;
  if (plain) return { client_encoding: 'UTF8', application_name };
  return {
    client_encoding: 'UTF8',
    ...extras,
    ...SESSION_SETTINGS,
    ...FURTHER_SETTINGS,
    ...(mode === 'write' ? {} : { default_transaction_read_only: 'on' }),
  };
}
