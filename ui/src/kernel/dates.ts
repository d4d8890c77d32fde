/** Times as the reader writes them, in the reader's zone; a 24-hour clock keeps columns even. */
const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, { hourCycle: 'h23', ...options });

const EXACT = format({ dateStyle: 'medium', timeStyle: 'long' });
const POINT = format({ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const MINUTE = format({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const DAY = format({ day: 'numeric', month: 'short' });
const FULL_DAY = format({ day: 'numeric', month: 'short', year: 'numeric' });
const WEEKDAY = format({ weekday: 'short', day: 'numeric' });
const HOUR = format({ hour: '2-digit', minute: '2-digit' });
const SECOND = format({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const MILLISECOND = format({ hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 });

const toDate = (time: string | number | Date): Date => new Date(time);

/** Date, time and zone: for details and on hover. */
export const exactTime = (time: string | number): string => EXACT.format(toDate(time));
/** `Mon, 23 Nov, 14:05`: a point of a chart. */
export const pointTime = (time: number): string => POINT.format(toDate(time));
/** `23 Nov, 14:05`. */
export const minuteTime = (time: string | number): string => MINUTE.format(toDate(time));
/** `23 Nov`. */
export const shortDay = (time: string | number): string => DAY.format(toDate(time));
/** `23 Nov 2026`. */
export const fullDay = (time: string | number): string => FULL_DAY.format(toDate(time));
/** `Mon 23`. */
export const weekday = (time: Date): string => WEEKDAY.format(time);
/** `14:05`. */
export const hourTime = (time: Date): string => HOUR.format(time);
/** `14:05:09`. */
export const clockTime = (time: string | number): string => SECOND.format(toDate(time));
/** `14:05:09.123`. */
export const logTime = (time: string | number): string => MILLISECOND.format(toDate(time));
