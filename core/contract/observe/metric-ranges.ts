/** How long metrics are kept and in which steps they are answered. No schema stands here: the interface reads it. */
export const MINUTES_KEPT_DAYS = 7;
export const HOURS_KEPT_DAYS = 30;
export const MOST_POINTS = 10_080;

export const PERIODS = ['1h', '6h', '24h', '7d'] as const;
export type Period = (typeof PERIODS)[number];
export const PERIOD_MINUTES: Readonly<Record<Period, number>> = { '1h': 60, '6h': 360, '24h': 1_440, '7d': 10_080 };

/** In seconds. A day begins differently for every reader, so there is none. */
const INTERVALS = [60, 300, 900, 3_600, 7_200, 21_600] as const;
const MOST_CHOSEN = 120;

/** The shortest interval that leaves a range at most 120 points. @param least such as an hour, when minutes are not kept any more. */
export const intervalFor = (seconds: number, least = 60): number =>
  INTERVALS.find((interval) => interval >= least && seconds / interval <= MOST_CHOSEN) ?? 21_600;

/** What callers are grouped by. */
export const CALLER_KEYS = ['client', 'person', 'token'] as const;
export type CallerKey = (typeof CALLER_KEYS)[number];
