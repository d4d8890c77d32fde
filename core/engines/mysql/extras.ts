import { type Extra, extrasOf, textField } from '../shared/extras.ts';

/** The default time zone of sessions. */
export const UTC = '+00:00';

/** Minutes that an offset such as `-03:30` is ahead of UTC. */
export function minutesOf(offset: string): number {
  const [hours = 0, minutes = 0] = offset.slice(1).split(':').map(Number);
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

const COLLATIONS: ReadonlySet<string> = new Set(
  'utf8mb4 utf8mb4_bin utf8mb4_general_ci utf8mb4_unicode_ci utf8mb4_unicode_520_ci utf8mb4_0900_ai_ci utf8mb4_0900_as_cs'.split(
    ' ',
  ),
);
const OFFSET = /^(?:[+-](?:0\d|1[0-3]):[0-5]\d|\+14:00)$/;

export const MYSQL_EXTRAS: readonly Extra[] = [
  {
    field: textField(
      'charset',
      'Character set',
      'utf8mb4',
      'utf8mb4, or a collation of it such as utf8mb4_bin for comparing texts.',
    ),
    fault: (value) => (COLLATIONS.has(value) ? null : `must be one of ${[...COLLATIONS].join(', ')}.`),
  },
  {
    field: textField('time_zone', 'Time zone', UTC, 'Time zone of now() and timestamps, as an offset such as +02:00.'),
    fault: (value) => (OFFSET.test(value) ? null : 'must be an offset from UTC such as +02:00.'),
  },
];

/** Settings of every session. */
export interface MysqlExtras {
  /** Null: the server's default for the character set. */
  readonly collation: string | null;
  readonly offset: string;
}

export function mysqlExtras(extra_params: Readonly<Record<string, unknown>>): MysqlExtras {
  const { charset = 'utf8mb4', time_zone = UTC } = extrasOf(MYSQL_EXTRAS, extra_params);
  return { collation: charset === 'utf8mb4' ? null : charset, offset: time_zone };
}
