import { type Extra, extrasOf, textField } from '../shared/extras.ts';

const whole = (most: number) => (value: string) =>
  /^[1-9]\d{0,15}$/.test(value) && Number(value) <= most ? null : `must be a whole number from 1 to ${most}.`;

/** Settings that are sent with each statement, if the account may change settings. */
export const CLICKHOUSE_EXTRAS: readonly Extra[] = [
  {
    field: textField('max_threads', 'Threads', null, 'The most threads of the server that one statement uses.'),
    fault: whole(1_024),
  },
  {
    field: textField('max_memory_usage', 'Memory', null, 'The most bytes of memory that one statement uses on the server.'),
    fault: whole(2 ** 50),
  },
];

export const clickhouseExtras = (extra_params: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> =>
  extrasOf(CLICKHOUSE_EXTRAS, extra_params);
