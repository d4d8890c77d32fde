import { DB_TYPE_CHOICES } from '#core/contract/definitions/connections.ts';
import { checkHost } from '../shared/check.ts';
import type { EngineDescriptor, DatabaseKind } from '../shared/descriptor.ts';
import { networkVariables } from '../shared/project.ts';
import { sessionNameFault } from './session-values.ts';
import { POSTGRESQL_EXTRAS } from './extras.ts';
import { POSTGRESQL_DIALECT } from './sql/dialect.ts';

const PORT = 5432;

const KINDS: readonly DatabaseKind[] = [
  { db_type: 'postgresql', default_port: PORT, note: null, telemetry: 'postgresql' },
  relative({
    db_type: 'cockroachdb',
    default_port: 26_257,
    telemetry: 'cockroachdb',
    version: /CockroachDB/,
  }),
  relative({ db_type: 'greenplum', version: /Greenplum/ }),
  relative({ db_type: 'supabase' }),
  relative({ db_type: 'timescaledb' }),
  relative({ db_type: 'redshift', default_port: 5439, telemetry: 'aws.redshift', version: /Redshift/ }),
];

/** A database with PostgreSQL's protocol that is not tested separately. */
function relative(kind: Pick<DatabaseKind, 'db_type'> & Partial<DatabaseKind>): DatabaseKind {
  const note = `Speaks PostgreSQL's protocol. Tested against PostgreSQL only, not against ${DB_TYPE_CHOICES[kind.db_type].label.replace('Amazon ', '')}.`;
  return { default_port: PORT, telemetry: 'postgresql', note, ...kind };
}

export const POSTGRESQL: EngineDescriptor = {
  name: 'postgresql',
  kinds: KINDS,
  dialect: POSTGRESQL_DIALECT,
  // Without a username the connection uses `postgres`.
  required_fields: ['host', 'database'],
  extras: POSTGRESQL_EXTRAS,
  session: { kinds: ['postgresql', 'supabase', 'timescaledb'], nameFault: sessionNameFault, roles: true },
  token: false,
  tunnels: true,
  replicated: ['postgresql', 'supabase', 'timescaledb'],
  bundle: ({ ssl_mode, ssl_ca, ssl_cert, ssl_key }, target) => {
    if (target !== 'workers') return [];
    const has_certificates = ssl_ca !== null || ssl_cert !== null || ssl_key !== null;
    const partial = ssl_mode === 'require' || ssl_mode === 'verify-ca';
    return [
      ...(has_certificates
        ? ['has certificates of its own, and Workers verify by public authorities only. Reach it through Hyperdrive.']
        : []),
      ...(partial
        ? [`has ssl_mode ${ssl_mode}, and Workers verify every certificate in full. Set ssl_mode to verify-full.`]
        : []),
    ];
  },
  check: checkHost,
  open: async () => (await import('./source.ts')).openPostgres,
  plans: async () => (await import('./explain.ts')).POSTGRESQL_PLANS,
  estimates: { kinds: ['postgresql', 'supabase', 'timescaledb'], cost: true },
  project: {
    driver: 'snapshots/generate/project/drivers/postgresql.ts',
    packages: ['ipaddr.js'],
    networked: true,
    enforced:
      'PostgreSQL runs what only reads in a read-only transaction and rolls it back; the session is reset after each call. Without `ssl_mode` the connection is encrypted; plain text is used only for a private address whose server offers no TLS, and never with `ssl_ca`.',
    variables: (named) => {
      const { default_port } = KINDS.find(({ db_type }) => db_type === named.connection.db_type) ?? {};
      return networkVariables(named, default_port ?? PORT, 'postgres');
    },
  },
};
