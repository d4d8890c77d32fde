import { checkHost } from '../shared/check.ts';
import type { EngineDescriptor } from '../shared/descriptor.ts';
import { networkVariables } from '../shared/project.ts';
import { MYSQL_EXTRAS } from './extras.ts';
import { MYSQL_DIALECT, MYSQL_DIALECTS } from './dialects.ts';

const PORT = 3306;

export const MYSQL: EngineDescriptor = {
  name: 'mysql',
  kinds: [
    {
      db_type: 'mysql',
      default_port: PORT,
      note: 'Same driver as MariaDB, and tested against MariaDB only.',
      telemetry: 'mysql',
    },
    { db_type: 'mariadb', default_port: PORT, note: null, telemetry: 'mariadb', version: /MariaDB/i },
  ],
  dialect: MYSQL_DIALECT,
  dialects: MYSQL_DIALECTS,
  // Without a username the connection uses the anonymous user.
  required_fields: ['host', 'database'],
  extras: MYSQL_EXTRAS,
  session: {
    kinds: ['mysql', 'mariadb'],
    nameFault: (name) =>
      name.includes('.') ? 'cannot have a dot here: it becomes the variable of that name, such as @tenant.' : null,
    roles: false,
  },
  token: false,
  tunnels: true,
  replicated: ['mysql', 'mariadb'],
  check: checkHost,
  open: async () => (await import('./source.ts')).openMysql,
  plans: async () => (await import('./explain.ts')).MYSQL_PLANS,
  // MariaDB before 11 writes no costs.
  estimates: { kinds: ['mysql', 'mariadb'], cost: false },
  project: {
    driver: 'snapshots/generate/project/drivers/mysql.ts',
    packages: ['ipaddr.js', 'mysql2'],
    networked: true,
    enforced:
      'MySQL and MariaDB run what only reads in a read-only transaction and roll it back; the session is reset after each call. Without `ssl_mode` the connection is encrypted; plain text is used only for a private address whose server offers no TLS, and never with `ssl_ca`.',
    variables: (named) => networkVariables(named, PORT, ''),
  },
};
