import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { placeholder } from './parameters.ts';
import { scanClickhouse } from './scanner.ts';

export const CLICKHOUSE_DIALECT: SqlDialect = {
  name: 'clickhouse',
  scan: scanClickhouse,
  placeholder,
  reuses: true,
  no_row: null,
  // A list cannot be null there, and null elements are left out of `NOT IN`.
  list: (value, negated) => (value === null ? '= NULL' : `${negated ? 'NOT IN' : 'IN'} ${value}`),
  question_operator: false,
  bracket_names: false,
  hint: null,
  classifier: async () => ({ rules: (await import('./rules.ts')).CLICKHOUSE_RULES }),
};
