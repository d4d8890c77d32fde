/** `3 tools`, `1 tool`, `No tools` never: the number is always there. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** `640 ms`, `1.2 s`. */
export const duration = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);

const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `512 bytes`, `4.0 MiB`. */
export function bytes(size: number): string {
  const power = size < 1 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(size) / 10));
  return power === 0 ? plural(size, 'byte') : `${(size / 1_024 ** power).toFixed(1)} ${BYTE_UNITS[power]}`;
}

/** `999`, `1.2 k`, `3.4 M`. */
export const count = (size: number): string =>
  size < 10_000
    ? size.toLocaleString('en')
    : new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(size);

/** A part of one as `12.3 %`; `<0.1 %` for what would look like nothing. */
export const percent = (part: number): string =>
  part > 0 && part < 0.001 ? '<0.1 %' : `${(part * 100).toFixed(part === 0 || part >= 0.1 ? 0 : 1)} %`;

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
  { below: Number.POSITIVE_INFINITY, unit: 86_400, word: 'day' },
] as const;

/** How long before `now` (milliseconds) the ISO time was: `just now`, `4 minutes ago`. */
export function ago(iso: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1_000));
  if (seconds < 5) return 'just now';
  const step = STEPS.find(({ below }) => seconds < below) ?? STEPS[3];
  return `${plural(Math.floor(seconds / step.unit), step.word)} ago`;
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
