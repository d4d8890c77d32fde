/** Times as the reader writes them, in the reader's zone; a 24-hour clock keeps columns even. */
function format(options: Intl.DateTimeFormatOptions) {
  const formatter = new Intl.DateTimeFormat(undefined, { hourCycle: 'h23', ...options });
  return (time: string | number | Date): string => formatter.format(new Date(time));
}

/** Date, time and zone: for details and on hover. */
export const exactTime = format({ dateStyle: 'medium', timeStyle: 'long' });
/** `Mon, 23 Nov, 14:05`: a point of a chart. */
export const pointTime = format({ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
/** `23 Nov, 14:05`. */
export const minuteTime = format({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
/** `23 Nov`. */
export const shortDay = format({ day: 'numeric', month: 'short' });
/** `23 Nov 2026`. */
export const fullDay = format({ day: 'numeric', month: 'short', year: 'numeric' });
/** `Mon 23`. */
export const weekday = format({ weekday: 'short', day: 'numeric' });
/** `14:05`. */
export const hourTime = format({ hour: '2-digit', minute: '2-digit' });
/** `14:05:09`. */
export const clockTime = format({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
/** `14:05:09.123`. */
export const logTime = format({ hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 });
