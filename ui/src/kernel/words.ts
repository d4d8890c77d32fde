import { beginning } from '#core/lib/text/shorten.ts';
import { fullDay } from './dates.ts';
import { num, tenths } from './numbers.ts';

/** `3 tools`, `1 tool`, `No tools` never: the number is always there. */
export const plural = (count: number, one: string, many = `${one}s`): string => `${num(count)} ${count === 1 ? one : many}`;

/** What failed of several; of a single one, why is enough. @param detail why the first of them failed. */
export const failedOf = (failed: number, all: number, one: string, detail: string): string =>
  all === 1 ? detail : `${num(failed)} of ${plural(all, one)} could not be changed. ${detail}`;

type Counted = 'connection' | 'tool' | 'resource' | 'prompt';
/** `3 tools, 1 resource`. */
export const countsInWords = (counts: Readonly<Record<`${Counted}s`, number>>, kinds: readonly Counted[]): string =>
  kinds.map((kind) => plural(counts[`${kind}s`], kind)).join(', ');

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const TIME_UNITS = { d: 86_400, h: 3_600, min: 60, s: 1 };

/** `640 ms`, `1.2 s`, `12 min 5 s`, `6 d 22 h`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${num(Math.round(ms))} ms`;
  if (ms < 60_000) return `${tenths(ms / 1_000)} s`;
  let rest = Math.round(ms / 1_000);
  const parts = Object.entries(TIME_UNITS).map(([unit, seconds]) => {
    const count = Math.floor(rest / seconds);
    rest %= seconds;
    return count && `${num(count)} ${unit}`;
  });
  return parts.filter(Boolean).slice(0, 2).join(' ');
}

const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `512 bytes`, `4.0 MiB`. */
export function bytes(size: number): string {
  const power = size < 1 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(size) / 10));
  return power === 0 ? plural(size, 'byte') : `${tenths(size / 1_024 ** power)} ${BYTE_UNITS[power]}`;
}

const LINE_CHARS = 80;

/** The beginning of a long text in one line, with `…` for the rest. */
export function firstLine(text: string): string {
  const whole = text.trim();
  const line = beginning(whole.split('\n', 1)[0] ?? '', LINE_CHARS).trimEnd();
  return line.length < whole.length ? `${line}…` : line;
}

/** Seconds as a clock: `0:09`, `12:30`. */
export const clock = (seconds: number): string => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;

/** `1 hour`, `7 days` of minutes. */
export function minutesWord(minutes: number): string {
  if (minutes % 1_440 === 0) return plural(minutes / 1_440, 'day');
  if (minutes % 60 === 0) return plural(minutes / 60, 'hour');
  return plural(minutes, 'minute');
}

const STEPS = [
  { below: 60, unit: 1, word: 'second' },
  { below: 3_600, unit: 60, word: 'minute' },
  { below: 86_400, unit: 3_600, word: 'hour' },
] as const;

/** `4 minutes`; undefined from a day on, where a date says more. */
function span(seconds: number): string | undefined {
  const step = STEPS.find(({ below }) => seconds < below);
  return step && plural(Math.floor(seconds / step.unit), step.word);
}

/** How long before `now` (milliseconds) the ISO time was, or its day: `just now`, `4 minutes ago`, `23 Nov 2026`. */
export function ago(iso: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1_000));
  if (seconds < 5) return 'just now';
  const since = span(seconds);
  return since === undefined ? fullDay(iso) : `${since} ago`;
}

/** How long after `now` (milliseconds) the ISO time is, or its day: `in 12 minutes`, `23 Nov 2026`, `now`. */
export function until(iso: string, now: number): string {
  const seconds = Math.round((Date.parse(iso) - now) / 1_000);
  if (seconds <= 0) return 'now';
  const left = span(seconds);
  return left === undefined ? fullDay(iso) : `in ${left}`;
}

/** What the login page says around the second factor. */
export const LOGIN_WORDS = {
  code_lead: 'Enter the 6-digit code from your authenticator app.',
  recovery_lead: 'Enter one of your recovery codes. Each works once.',
  missing_code: 'Enter the 6 digits of the code.',
  missing_recovery: 'Enter a recovery code.',
  to_recovery: 'Use a recovery code',
  to_code: 'Use the authenticator app',
  expires_in: (seconds: number) => `This sign-in expires in ${clock(seconds)}.`,
  back: 'Back to sign-in',
  expired: 'This sign-in has expired. Sign in again.',
  refused: 'Too many wrong codes. Sign in again.',
  limited: 'Too many attempts. Sign in again later.',
} as const;

/** What a field is called. One that has no label is written as words. */
export const fieldName = (labels: Readonly<Record<string, string>> | undefined, name: string): string =>
  labels?.[name] ?? capital(name.replaceAll('_', ' ').replaceAll(/\b(?:id|url)\b/g, (word) => word.toUpperCase()));
