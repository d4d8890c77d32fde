import { invalidField } from '#core/errors.ts';
import { checkHost } from '../shared/check.ts';
import type { EngineDescriptor } from '../shared/descriptor.ts';
import { networkVariables } from '../shared/project.ts';
import { CLICKHOUSE_DIALECT } from './dialect.ts';
import { CLICKHOUSE_EXTRAS } from './extras.ts';

const PORT = 8443;
const SYSTEM = new Set(['system', 'information_schema']);

export const CLICKHOUSE: EngineDescriptor = {
  name: 'clickhouse',
  kinds: [
    {
      db_type: 'clickhouse',
      default_port: PORT,
      note: 'Over HTTP, read only. Without TLS, set TLS to Never; the port is then usually 8123. Tested with the server 18.16, and in process with the engine 26.7.',
      telemetry: 'clickhouse',
    },
  ],
  dialect: CLICKHOUSE_DIALECT,
  required_fields: ['host', 'database'],
  extras: CLICKHOUSE_EXTRAS,
  session: null,
  over_http: true,
  token: false,
  async check(target, policy) {
    if (SYSTEM.has(target.database.toLowerCase())) {
      throw invalidField('database', 'database cannot be one of the server itself, which shows other callers and settings.');
    }
    await checkHost(target, policy);
  },
  open: async () => (await import('./source.ts')).openClickhouse,
  plans: async () => (await import('./explain.ts')).CLICKHOUSE_PLANS,
  estimates: { kinds: ['clickhouse'], cost: false },
  project: {
    driver: 'snapshots/generate/project/drivers/clickhouse.ts',
    packages: [],
    networked: true,
    enforced: 'ClickHouse is sent every statement with `readonly = 1`.',
    variables: (named) => networkVariables(named, PORT, 'default'),
  },
};
