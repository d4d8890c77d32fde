import type { ConnectionType, DbType } from '#core/contract/connections.ts';

type Extra = ConnectionType['extra_fields'][number];

/** Without a user name PostgreSQL is asked as `postgres`, MySQL as its anonymous user. */
const NETWORK_FIELDS = ['host', 'database'];
const NO_EXTRAS: Extra[] = [];

/** What a person fills in for each kind of database: the table behind GET connections/types and the connection form. */
export const CONNECTION_TYPES: readonly ConnectionType[] = [
  network('postgresql', 'PostgreSQL', 5432, NETWORK_FIELDS, null),
  network('mysql', 'MySQL', 3306, NETWORK_FIELDS, 'Same driver as MariaDB, and tested against MariaDB only.'),
  network('mariadb', 'MariaDB', 3306, NETWORK_FIELDS, null),
  {
    db_type: 'sqlite',
    label: 'SQLite',
    default_port: null,
    required_fields: ['database'],
    extra_fields: [],
    supported: true,
    note: 'The database is a file inside the folder of SVC_SQLITE_DIR.',
  },
  {
    db_type: 'libsql',
    label: 'libSQL (remote)',
    default_port: null,
    required_fields: ['host', 'database'],
    extra_fields: [],
    supported: true,
    note: 'Over HTTP; the password is the token, and the database is only a label. The server has no read-only sessions: use a read-only token where tools only read.',
  },
  network('cockroachdb', 'CockroachDB', 26257, NETWORK_FIELDS, asPostgresql('CockroachDB')),
  network('greenplum', 'Greenplum', 5432, NETWORK_FIELDS, asPostgresql('Greenplum')),
  network('supabase', 'Supabase', 5432, NETWORK_FIELDS, asPostgresql('Supabase')),
  network('timescaledb', 'TimescaleDB', 5432, NETWORK_FIELDS, asPostgresql('TimescaleDB')),
  network('redshift', 'Amazon Redshift', 5439, NETWORK_FIELDS, asPostgresql('Redshift')),
  planned('clickhouse', 'ClickHouse', 8123),
  planned('mssql', 'Microsoft SQL Server', 1433),
  planned('duckdb', 'DuckDB', null),
  planned('bigquery', 'Google BigQuery', null),
  planned('snowflake', 'Snowflake', 443),
  planned('oracle', 'Oracle Database', 1521),
  planned('cassandra', 'Apache Cassandra', 9042),
];

function network(db_type: DbType, label: string, port: number, required_fields: string[], note: string | null): ConnectionType {
  return { db_type, label, default_port: port, required_fields, extra_fields: NO_EXTRAS, supported: true, note };
}

function asPostgresql(name: string): string {
  return `Through the PostgreSQL driver, and tested against PostgreSQL only, not against ${name}.`;
}

function planned(db_type: DbType, label: string, default_port: number | null): ConnectionType {
  const note = 'Not available yet: its driver is not part of this version.';
  return { db_type, label, default_port, required_fields: [], extra_fields: [], supported: false, note };
}
