import * as v from 'valibot';
import { type Connection, ConnectionDraft, type ConnectionType, type DbType } from '#core/contract/definitions/connections.ts';
import {
  connectionCertificates,
  connectionLimits,
  type ShownSsh,
  type Ssh,
  SSH_SECRETS,
  type SshHop,
} from '#core/contract/definitions/connection-fields.ts';
import { same } from '#ui/src/kernel/form/merge.ts';
import { decode } from '#ui/src/kernel/route/router.ts';

/** The fields that one kind of database has, and what they are called there; a field that is missing is not shown. */
export interface ConnectionFields {
  readonly host?: FieldWords;
  readonly database: FieldWords;
  readonly username?: FieldWords;
  readonly password?: FieldWords;
  readonly tls: boolean;
}

interface FieldWords {
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
}

const NETWORK: ConnectionFields = {
  host: { label: 'Host', placeholder: 'db.example.com' },
  database: { label: 'Database' },
  username: {
    label: 'Username',
    hint: 'A read-only user is the safest start. Leave empty for the default user of the database server.',
  },
  password: { label: 'Password' },
  tls: true,
};

const FIELDS: Partial<Record<DbType, ConnectionFields>> = {
  sqlite: {
    database: { label: 'File', placeholder: 'shop.sqlite', hint: 'A file inside the folder that SVC_SQLITE_DIR names.' },
    tls: false,
  },
  duckdb: {
    database: {
      label: 'Folder or file',
      placeholder: 'reports',
      hint: 'A folder of CSV, Parquet, JSON and SQLite files, or a .duckdb file, inside the folder that SVC_SQLITE_DIR names.',
    },
    tls: false,
  },
  libsql: {
    host: { label: 'Host', placeholder: 'shop-acme.example.io' },
    database: { label: 'Database', hint: 'Used only as a label.' },
    password: { label: 'Token' },
    tls: true,
  },
};

/** A folder, or one SQLite file that another one can replace. */
export const hasFiles = (connection: Pick<ConnectionDraft, 'db_type' | 'database'>): boolean =>
  isFolder(connection) || connection.db_type === 'sqlite';

/** A folder of files, which people can add to here. */
export const isFolder = ({ db_type, database }: Pick<ConnectionDraft, 'db_type' | 'database'>): boolean =>
  db_type === 'duckdb' && !/\.(?:duckdb|ddb)$/i.test(database);

export const fieldsOf = (db_type: DbType): ConnectionFields => FIELDS[db_type] ?? NETWORK;

/** What the schema of all kinds cannot say of one. */
export const checkDraft = ({ db_type, host }: ConnectionDraft): Readonly<Record<string, string>> =>
  fieldsOf(db_type).host !== undefined && (host ?? '') === '' ? { host: 'Must not be empty.' } : {};

/** A new connection of one kind, with the contract's defaults. */
export function emptyDraft(type: Pick<ConnectionType, 'db_type' | 'default_port'>): ConnectionDraft {
  const { name: _name, db_type: _type, database: _database, ...defaults } = v.getDefaults(ConnectionDraft);
  return { ...defaults, session_values: [], name: '', db_type: type.db_type, port: type.default_port, database: '' };
}

const ADVANCED = [
  'ssl_mode',
  ...(Object.keys(connectionCertificates) as (keyof typeof connectionCertificates)[]),
  'session_values',
  'session_role',
  'enabled',
  ...(Object.keys(connectionLimits) as (keyof typeof connectionLimits)[]),
] as const;

/** Whether a field of the form, or the part of one, is under *Advanced*. */
export const isAdvancedField = (path: string): boolean => ['extra_params', ...ADVANCED].includes(path.replace(/\..*$/s, ''));

/** Whether anything under *Advanced* differs from the defaults. @param extras names of the engine's settings in the form. */
export function isAdvanced(draft: ConnectionDraft, extras: readonly string[]): boolean {
  const defaults = emptyDraft({ db_type: draft.db_type, default_port: null });
  return ADVANCED.some((name) => !same(draft[name], defaults[name])) || extras.some((name) => Boolean(draft.extra_params[name]));
}

/** What the form of a stored connection begins with; a password that is not sent again stays as it is. References are shown. */
export function draftOf(connection: Connection): ConnectionDraft {
  const { id, version, created_at, updated_at, password_set, ssl_key_set, ssh, ...values } = connection;
  return { ...values, password: values.password ?? null, ssl_key: values.ssl_key ?? null, ssh: ssh && sshDraft(ssh) };
}

const sshDraft = ({ jump, ...last }: ShownSsh): Ssh => ({ ...hopDraft(last), jump: jump.map(hopDraft) });
const hopDraft = ({ private_key_set, passphrase_set, password_set, ...hop }: ShownSsh['jump'][number]): SshHop => hop;

/** A draft to send: a secret of an SSH server that is not entered stays as it is stored. */
export const toSent = <D extends Partial<ConnectionDraft>>(draft: D): D =>
  draft.ssh == null ? draft : { ...draft, ssh: { ...withoutEmpty(draft.ssh), jump: draft.ssh.jump.map(withoutEmpty) } };
const withoutEmpty = <H extends SshHop>(hop: H): H =>
  Object.fromEntries(
    Object.entries(hop).filter(([name, value]) => value !== null || !SSH_SECRETS.some((secret) => secret === name)),
  ) as H;

/** Another kind of database keeps what both kinds have. */
export function withType(
  draft: ConnectionDraft,
  type: Pick<ConnectionType, 'db_type' | 'default_port'> & Partial<Pick<ConnectionType, 'extra_fields' | 'hosts' | 'ssh'>>,
): ConnectionDraft {
  const fields = fieldsOf(type.db_type);
  return {
    ...draft,
    db_type: type.db_type,
    port: type.default_port,
    target: type.hosts === true ? draft.target : 'any',
    host: fields.host === undefined ? null : draft.host,
    username: fields.username === undefined ? null : draft.username,
    password: fields.password === undefined ? null : draft.password,
    ssl_mode: fields.tls ? draft.ssl_mode : null,
    ...(fields.tls ? {} : { ssl_ca: null, ssl_cert: null, ssl_key: null }),
    // Their names are another engine's. MySQL and MariaDB, say, have the same ones.
    extra_params: Object.fromEntries(
      Object.entries(draft.extra_params).filter(([name]) => type.extra_fields?.some((extra) => extra.name === name)),
    ),
    session_values: [],
    session_role: null,
    ssh: type.ssh === true ? draft.ssh : null,
  };
}

/** The fields that differ from what is stored, for a PATCH. */
export function changesOf(before: Connection, draft: ConnectionDraft): Partial<ConnectionDraft> {
  const stored: Readonly<Record<string, unknown>> = { ...draftOf(before) };
  return Object.fromEntries(Object.entries(toSent(draft)).filter(([name, value]) => !same(stored[name], value)));
}

/** Where a connection leads, in one line. */
export function addressOf({ host, port, database }: Pick<Connection, 'host' | 'port' | 'database'>): string {
  if (host === null) return database;
  if (host.includes(',')) return `${host}/${database}`;
  return `${host.includes(':') ? `[${host}]` : host}${port === null ? '' : `:${port}`}/${database}`;
}

const SCHEMES: Readonly<Record<string, DbType>> = {
  'postgres:': 'postgresql',
  'postgresql:': 'postgresql',
  'mysql:': 'mysql',
  'mysql2:': 'mysql',
  'mariadb:': 'mariadb',
  'libsql:': 'libsql',
  'cockroachdb:': 'cockroachdb',
  'redshift:': 'redshift',
  'clickhouse:': 'clickhouse',
};
const SSL_MODES = { disable: 'disable', require: 'require', 'verify-ca': 'verify-ca', 'verify-full': 'verify-full' } as const;

/** `jdbc:mysql://…` and `postgresql+psycopg://…` are addresses for one program. */
const asUrl = (text: string): URL | undefined => {
  const bare = text
    .trim()
    .replace(/^jdbc:/i, '')
    .replace(/^([a-z0-9]+)\+[a-z0-9]+:/i, '$1:');
  return URL.canParse(bare) ? new URL(bare) : undefined;
};

/**
 * The fields in an address such as `postgres://user:password@host:5432/shop?sslmode=require`; undefined when it is none.
 * @param extras names of the entries of `extra_params` that its kind of database has.
 */
export function parseAddress(
  text: string,
  extras: (db_type: DbType) => readonly string[] = () => [],
): Partial<ConnectionDraft> | undefined {
  const url = asUrl(text);
  const db_type = url && SCHEMES[url.protocol];
  if (url === undefined || db_type === undefined || url.hostname === '') return undefined;
  const { searchParams: given } = url;
  const mode = given.get('sslmode') ?? given.get('ssl-mode')?.toLowerCase().replace('_', '-') ?? '';
  const ssl_mode = Object.values(SSL_MODES).find((known) => known === mode);
  const username = decode(url.username) || (given.get('user') ?? '');
  const password = decode(url.password) || (given.get('password') ?? '');
  const settings = extras(db_type).flatMap((name) => (given.get(name) ? [[name, given.get(name)]] : []));
  return {
    db_type,
    host: decode(url.hostname).replaceAll(/^\[|\]$/g, ''),
    database: decode(url.pathname.slice(1)),
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(ssl_mode === undefined ? {} : { ssl_mode }),
    ...(settings.length === 0 ? {} : { extra_params: Object.fromEntries(settings) }),
  };
}

const TAKEN = new Set(['sslmode', 'ssl-mode', 'user', 'password']);

/** The settings of an address that no field takes. */
export const leftOut = (text: string, extras: readonly string[]): string[] => [
  ...new Set([...(asUrl(text)?.searchParams.keys() ?? [])].filter((name) => !TAKEN.has(name) && !extras.includes(name))),
];
