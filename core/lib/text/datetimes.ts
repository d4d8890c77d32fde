import { AppError } from '#core/errors.ts';

/** The value of a parameter of type `datetime`. */
const DATETIME = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d)?(\.\d+)?(?: ?(?:([Zz])|([+-]\d\d)(?::?(\d\d))?))?)?$/;

/** The parts of an ISO 8601 date and time. */
export interface Datetime {
  readonly date: string;
  /** For example `03:04:05`. */
  readonly time: string;
  /** Empty, or a point and digits. */
  readonly fraction: string;
  /** Empty, `Z`, or an offset such as `+02:00`. */
  readonly zone: string;
}

/** Parses a date and time. Null for other texts, such as `infinity`. A date alone means its start. */
export function parseDatetime(text: string): Datetime | null {
  const [, date, minutes = '00:00', seconds = ':00', fraction = '', utc, hours, rest = '00'] = DATETIME.exec(text) ?? [];
  if (date === undefined) return null;
  const zone = utc === undefined ? (hours === undefined ? '' : `${hours}:${rest}`) : 'Z';
  const datetime = { date, time: minutes + seconds, fraction, zone };
  return Number.isNaN(momentOf(datetime)) ? null : datetime;
}

/**
 * Converts to ISO 8601. Other text, dates alone and the space of a local time stay unchanged, because they are stored that way.
 */
export function isoDatetime(text: string): string {
  const datetime = parseDatetime(text);
  if (datetime === null || text.length === datetime.date.length) return text;
  const iso = textOf(datetime);
  return datetime.zone === '' && text.includes(' ') ? iso.replace('T', ' ') : iso;
}

/** The same moment in UTC. Without a zone it stays unchanged, because it refers to the zone of the session. */
export function utcDatetime(text: string): string {
  const datetime = parseDatetime(text);
  if (datetime === null || datetime.zone === '') return text;
  return `${textOf(atOffset(datetime, 0))}Z`;
}

/** The same moment at another offset. Without a zone it stays unchanged. @param minutes ahead of UTC. */
export function atOffset(datetime: Datetime, minutes: number): Datetime {
  const { zone, fraction } = datetime;
  if (zone === '') return datetime;
  const moment = new Date(momentOf(datetime) + minutes * 60_000);
  const year = moment.getUTCFullYear();
  if (year < 1 || year > 9999) throw new AppError('sql_error', OUT_OF_RANGE);
  const [date = '', time = ''] = moment.toISOString().slice(0, 19).split('T');
  return { date, time, fraction, zone: '' };
}

const OUT_OF_RANGE = 'A datetime is before the year 1 or after the year 9999 in the time zone of the database; send another one.';

const textOf = ({ date, time, fraction, zone }: Datetime): string => `${date}T${time}${fraction}${zone}`;

/** Milliseconds since 1970, without the fraction. */
const momentOf = ({ date, time, zone }: Datetime): number => Date.parse(`${date}T${time}${zone === '' ? 'Z' : zone}`);
