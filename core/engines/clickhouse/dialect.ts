import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { list, placeholder } from './parameters.ts';
import { scanClickhouse } from './scanner.ts';

export const CLICKHOUSE_DIALECT: SqlDialect = {
  name: 'clickhouse',
  scan: scanClickhouse,
  placeholder,
  unlimited: { limit: '9223372036854775807', offset: 0 },
  reuses: true,
  tells_given: true,
  no_row: null,
  list,
  question_operator: false,
  bracket_names: false,
  hint: null,
  pages: null,
  classifier: async () => ({ rules: (await import('./rules.ts')).CLICKHOUSE_RULES }),
};
