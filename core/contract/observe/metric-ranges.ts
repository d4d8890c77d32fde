/** Retention and intervals of metrics. No schema here, because the UI loads this file. */
export const MINUTES_RETENTION_DAYS = 7;
export const HOURS_RETENTION_DAYS = 30;
export const MOST_POINTS = 10_080;

export const PERIOD_CHOICES = {
  '1h': { label: '1 hour' },
  '6h': { label: '6 hours' },
  '24h': { label: '24 hours' },
  '7d': { label: '7 days' },
};
export type Period = keyof typeof PERIOD_CHOICES;
export const PERIODS = Object.keys(PERIOD_CHOICES) as readonly Period[];
export const PERIOD_MINUTES: Readonly<Record<Period, number>> = { '1h': 60, '6h': 360, '24h': 1_440, '7d': 10_080 };

/** Intervals in seconds. None is a day, because days start at different times for each reader. */
const INTERVALS = [60, 300, 900, 3_600, 7_200, 21_600] as const;
const MOST_CHOSEN = 120;

/**
 * The shortest interval that splits a range into at most 120 points. @param least the minimum, such as an hour if minutes are no
 * longer stored.
 */
export const intervalFor = (seconds: number, least = 60): number =>
  INTERVALS.find((interval) => interval >= least && seconds / interval <= MOST_CHOSEN) ?? 21_600;

/** Keys by which callers are grouped. */
export const CALLER_KEYS = ['client', 'person', 'token'] as const;
export type CallerKey = (typeof CALLER_KEYS)[number];
