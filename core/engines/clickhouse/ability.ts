import { AppError } from '#core/errors.ts';
import { textOf } from '../shared/rows.ts';
import type { Row } from '#core/lib/sql/result.ts';

/** The features of the server, and the settings that the account may change. */
export interface Ability {
  readonly version: string;
  /** The account's `readonly` setting. With 0 or 1 every statement is sent with `readonly = 1`. */
  readonly readonly: '0' | '1';
  /** The account's limit in seconds; 0: none. */
  readonly max_execution_time: number;
  /** The settings from `SETTINGS` that the server supports. */
  readonly settings: readonly (readonly [string, string])[];
  /** True when tables have comments. */
  readonly comments: boolean;
  /** True when the server lists its data skipping indexes. */
  readonly skipping_indexes: boolean;
  /** True when the server accepts query parameters. */
  readonly parameters: boolean;
}

/** Settings for exact values, and for ending the statement of a caller that disconnects. */
const SETTINGS: Readonly<Record<string, string>> = {
  output_format_json_quote_64bit_integers: '1',
  output_format_json_quote_decimals: '1',
  output_format_json_quote_denormals: '1',
  output_format_decimal_trailing_zeros: '1',
  output_format_json_named_tuples_as_objects: '1',
  output_format_json_pretty_print: '0',
  date_time_output_format: 'iso',
  cancel_http_readonly_queries_on_client_close: '1',
  http_write_exception_in_output_format: '0',
};
const NAMES = [...Object.keys(SETTINGS), 'readonly', 'max_execution_time'];

export const ABILITY_SQL = `SELECT name, value, version() AS version FROM system.settings
  WHERE name IN (${NAMES.map((name) => `'${name}'`).join(', ')})
  UNION ALL SELECT 'comment', '', version() FROM system.columns WHERE database = 'system' AND table = 'tables' AND name = 'comment'
  UNION ALL SELECT 'skipping', '', version() FROM system.columns WHERE database = 'system' AND table = 'data_skipping_indices' AND name = 'expr'`;

const LOOSE =
  'The account has readonly = 2 in its settings profile, which lets a SELECT write through table functions and cannot be made stricter; use an account with readonly = 1, or one whose profile does not set it.';

export function abilityOf(rows: readonly Row[]): Ability {
  const known = new Map(rows.map((row) => [textOf(row['name']), textOf(row['value'])]));
  const readonly = known.get('readonly');
  const version = textOf(rows[0]?.['version']);
  if (readonly !== '0' && readonly !== '1') {
    throw new AppError('database_unreachable', readonly === undefined ? UNKNOWN : LOOSE, { reason: 'failed' });
  }
  return {
    version,
    readonly,
    max_execution_time: Number.parseInt(known.get('max_execution_time') ?? '0', 10) || 0,
    settings: Object.entries(SETTINGS).filter(([name]) => known.has(name)),
    comments: known.has('comment'),
    skipping_indexes: known.has('skipping'),
    parameters: version.localeCompare('20', 'en', { numeric: true }) >= 0,
  };
}

const UNKNOWN = 'The server does not say whether this account only reads; let it select from system.settings.';
