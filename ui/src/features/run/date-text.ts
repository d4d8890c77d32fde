import { parseDatetime } from '#core/lib/text/datetimes.ts';

/** What a date field holds: a day, or a day with a time. */
export type DateKind = 'date' | 'datetime';

const two = (value: number): string => String(value).padStart(2, '0');
const dayOf = (at: Date): string => `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

/** `2026-03-31T08:30:00+02:00`: the moment in the zone of the reader. */
function momentOf(at: Date): string {
  const ahead = -at.getTimezoneOffset();
  const zone =
    ahead === 0 ? 'Z' : `${ahead < 0 ? '-' : '+'}${two(Math.floor(Math.abs(ahead) / 60))}:${two(Math.abs(ahead) % 60)}`;
  return `${dayOf(at)}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}${zone}`;
}

const DAYS: Readonly<Record<string, number>> = { yesterday: -1, today: 0, tomorrow: 1 };
const AGO = /^([+-]\d{1,5}) ?(h|d|w)$/;

/** The text that the server takes for `today`, `yesterday`, `tomorrow`, `now`, `-7d`, `+2w` or `-3h`; undefined: any other text. */
export function fromRelative(text: string, kind: DateKind, now: Date): string | undefined {
  const word = text.trim().toLowerCase();
  const days = DAYS[word];
  const at = new Date(now);
  if (days !== undefined) {
    at.setDate(at.getDate() + days);
    at.setHours(0, 0, 0, 0);
  } else if (word !== 'now') {
    const [, amount, unit] = AGO.exec(word) ?? [];
    if (amount === undefined || (kind === 'date' && unit === 'h')) return undefined;
    if (unit === 'h') at.setHours(at.getHours() + Number(amount));
    else at.setDate(at.getDate() + Number(amount) * (unit === 'w' ? 7 : 1));
  }
  if (Number.isNaN(at.getTime())) return undefined;
  return kind === 'date' ? dayOf(at) : momentOf(at);
}

/** The value that a native picker begins with; empty when the text is no date. */
export function toPicker(text: string, kind: DateKind, now: Date): string {
  const found = parseDatetime(fromRelative(text, kind, now) ?? text.trim());
  if (found === null) return '';
  return kind === 'date' ? found.date : `${found.date}T${found.time}`;
}

/** The text for a picked value, in the zone of the text before it. */
export function fromPicker(picked: string, before: string, kind: DateKind): string {
  if (picked === '' || kind === 'date') return picked;
  const seconds = /T\d\d:\d\d$/.test(picked) ? ':00' : '';
  return `${picked}${seconds}${parseDatetime(before.trim())?.zone ?? ''}`;
}
