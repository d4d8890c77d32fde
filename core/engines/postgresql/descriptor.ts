import { checkHost } from '../shared/check.ts';
import type { EngineDescriptor, EngineLabel } from '../shared/descriptor.ts';
import { networkVariables } from '../shared/project.ts';
import { sessionNameFault } from './session-values.ts';
import { POSTGRESQL_EXTRAS } from './extras.ts';
import { POSTGRESQL_DIALECT } from './sql/dialect.ts';

const PORT = 5432;

const LABELS: readonly EngineLabel[] = [
  { db_type: 'postgresql', label: 'PostgreSQL', default_port: PORT, note: null, telemetry: 'postgresql' },
  relative({
    db_type: 'cockroachdb',
    label: 'CockroachDB',
    default_port: 26_257,
    telemetry: 'cockroachdb',
    version: /CockroachDB/,
  }),
  relative({ db_type: 'greenplum', label: 'Greenplum', version: /Greenplum/ }),
  relative({ db_type: 'supabase', label: 'Supabase' }),
  relative({ db_type: 'timescaledb', label: 'TimescaleDB' }),
  relative({ db_type: 'redshift', label: 'Amazon Redshift', default_port: 5439, telemetry: 'aws.redshift', version: /Redshift/ }),
];

/** What speaks PostgreSQL's protocol and has not been tested by itself. */
function relative(label: Pick<EngineLabel, 'db_type' | 'label'> & Partial<EngineLabel>): EngineLabel {
  const note = `Speaks PostgreSQL's protocol. Tested against PostgreSQL only, not against ${label.label.replace('Amazon ', '')}.`;
  return { default_port: PORT, telemetry: 'postgresql', note, ...label };
}

export const POSTGRESQL: EngineDescriptor = {
  name: 'postgresql',
  labels: LABELS,
  dialect: POSTGRESQL_DIALECT,
  // Without a user name it is asked as `postgres`.
  required_fields: ['host', 'database'],
  extras: POSTGRESQL_EXTRAS,
  session: { kinds: ['postgresql', 'supabase', 'timescaledb'], nameFault: sessionNameFault, roles: true },
  token: false,
  bundle: ({ ssl_mode, ssl_ca, ssl_cert, ssl_key }, target) => {
    if (target !== 'workers') return [];
    const own = ssl_ca !== null || ssl_cert !== null || ssl_key !== null;
    const partial = ssl_mode === 'require' || ssl_mode === 'verify-ca';
    return [
      ...(own
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
  project: {
    driver: 'snapshots/generate/project/drivers/postgresql.ts',
    packages: ['ipaddr.js'],
    networked: true,
    enforced:
      'PostgreSQL runs what only reads in a read-only transaction and rolls it back; the session is reset after each call. Without `ssl_mode` the connection is encrypted; plain text is used only for a private address whose server offers no TLS, and never with `ssl_ca`.',
    variables: (named) => {
      const { default_port } = LABELS.find(({ db_type }) => db_type === named.connection.db_type) ?? {};
      return networkVariables(named, default_port ?? PORT, 'postgres');
    },
  },
};
