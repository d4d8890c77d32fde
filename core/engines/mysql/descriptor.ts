import { checkHost } from '../shared/check.ts';
import type { EngineDescriptor } from '../shared/descriptor.ts';
import { networkVariables } from '../shared/project.ts';

const PORT = 3306;

export const MYSQL: EngineDescriptor = {
  name: 'mysql',
  labels: [
    {
      db_type: 'mysql',
      label: 'MySQL',
      default_port: PORT,
      note: 'Same driver as MariaDB, and tested against MariaDB only.',
      telemetry: 'mysql',
    },
    { db_type: 'mariadb', label: 'MariaDB', default_port: PORT, note: null, telemetry: 'mariadb' },
  ],
  dialect: 'mysql',
  // Without a user name it is asked as its anonymous user.
  required_fields: ['host', 'database'],
  extra_fields: [],
  token: false,
  check: checkHost,
  open: async () => (await import('./source.ts')).openMysql,
  project: {
    driver: 'snapshots/generate/project/drivers/mysql.ts',
    package: 'mysql2',
    networked: true,
    limit: null,
    variables: (named) => networkVariables(named, PORT, ''),
  },
};
