import type { DbType } from '#core/contract/connections.ts';
import { literal } from './literal.ts';
import type { NamedConnection } from './names.ts';

/** The driver file of a kind of database, or null when a project cannot connect it. */
const DRIVERS: Partial<Readonly<Record<DbType, string>>> = {
  postgresql: 'postgresql',
  cockroachdb: 'postgresql',
  greenplum: 'postgresql',
  supabase: 'postgresql',
  timescaledb: 'postgresql',
  redshift: 'postgresql',
  mysql: 'mysql',
  mariadb: 'mysql',
  sqlite: 'sqlite',
  libsql: 'libsql',
};
const PORTS: Readonly<Record<string, number>> = { postgresql: 5432, mysql: 3306, cockroachdb: 26257, redshift: 5439 };

/** Who signs in where a connection names nobody, as the host does it. */
const USERS: Readonly<Record<string, string>> = { postgresql: 'postgres' };

export const driverOf = (db_type: DbType): string | null => DRIVERS[db_type] ?? null;

/** An environment variable of a connection; without `fallback` it is a secret and has to be set. */
export interface Variable {
  readonly name: string;
  readonly member: string;
  readonly fallback?: string;
}

export function variablesOf({ connection, prefix }: NamedConnection): Variable[] {
  const { db_type, host, port, database, username, password, ssl_key } = connection;
  const driver = driverOf(db_type) ?? '';
  if (driver === 'sqlite') return [{ name: `${prefix}_PATH`, member: 'path', fallback: database }];
  const token = { name: `${prefix}_PASSWORD`, ...(password === null && { fallback: '' }) };
  if (driver === 'libsql') {
    return [
      { name: `${prefix}_URL`, member: 'url', fallback: libsqlUrl(host ?? 'localhost', port) },
      { ...token, member: 'token' },
    ];
  }
  return [
    { name: `${prefix}_HOST`, member: 'host', fallback: host ?? 'localhost' },
    { name: `${prefix}_PORT`, member: 'port', fallback: String(port ?? PORTS[db_type] ?? PORTS[driver]) },
    { name: `${prefix}_DATABASE`, member: 'database', fallback: database },
    { name: `${prefix}_USERNAME`, member: 'username', fallback: username ?? USERS[driver] ?? '' },
    { ...token, member: 'password' },
    ...(ssl_key === null ? [] : [{ name: `${prefix}_SSL_KEY`, member: 'ssl_key' }]),
  ];
}

function libsqlUrl(host: string, port: number | null): string {
  return /^[a-z]+:\/\//.test(host) ? host : `https://${host}${port === null ? '' : `:${port}`}`;
}

const opener = (driver: string): string => `open${driver[0]?.toUpperCase()}${driver.slice(1)}`;

export function connectionSource(linked: readonly NamedConnection[]): string {
  const drivers = [...new Set(linked.map(({ connection }) => driverOf(connection.db_type) ?? ''))].toSorted();
  const variables = linked.flatMap(variablesOf);
  const used = [
    ...(variables.some(({ fallback }) => fallback === undefined) ? ['secret'] : []),
    ...(variables.some(({ fallback }) => fallback !== undefined) ? ['setting'] : []),
  ];
  const entries = linked.map((item) => {
    const { connection, key } = item;
    const driver = driverOf(connection.db_type) ?? '';
    const lines = variablesOf(item).map(({ name, member, fallback }) => {
      const text = fallback === undefined ? `secret('${name}')` : `setting('${name}', ${literal(fallback)})`;
      return `    ${member}: ${member === 'port' ? `Number(${text})` : text},\n`;
    });
    const { ssl_mode, ssl_ca, ssl_cert, pool_size } = connection;
    const fixed = {
      ssl_mode,
      ssl_ca,
      ssl_cert,
      ...(connection.ssl_key === null && { ssl_key: null }),
      pool_size,
    };
    const networked = driver === 'postgresql' || driver === 'mysql';
    const rest = networked ? Object.entries(fixed).map(([name, value]) => `    ${name}: ${literal(value)},\n`) : [];
    return `  ${key}: ${opener(driver)}({\n${lines.join('')}${rest.join('')}  }),\n`;
  });
  return `import type { Database } from './definitions.ts';
${drivers.map((driver) => `import { ${opener(driver)} } from './drivers/${driver}.ts';\n`).join('')}${used.length > 0 ? `import { ${used.join(', ')} } from './settings.ts';\n` : ''}
/** Opened when they are first used. */
export const connections: Readonly<Record<string, Database>> = {
${entries.join('')}};
`;
}
