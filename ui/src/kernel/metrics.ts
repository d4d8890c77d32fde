import { ENTITIES, OWNED_KINDS, type OwnedKind } from '#core/contract/entities.ts';
import type { Output } from '#core/contract/index.ts';
import type { CallOutcome } from '#core/contract/observe/outcomes.ts';
import { type CallerKey, HOURS_RETENTION_DAYS, type Period, PERIOD_MINUTES } from '#core/contract/observe/metric-ranges.ts';
import { percent } from './numbers.ts';

export type Stats = Pick<Output<'metrics.stats'>, (typeof ENTITIES)[OwnedKind]['plural']>;
export type Series = Output<'metrics.timeseries'>;
export type Usage = Stats['tools'][string];
export type Kind = OwnedKind;

export { PERIODS, type Period } from '#core/contract/observe/metric-ranges.ts';
export const KINDS = OWNED_KINDS;

/** Seconds per point, such that each period has at most 96 points. */
export const INTERVAL_SECONDS: Readonly<Record<Period, number>> = { '1h': 60, '6h': 300, '24h': 900, '7d': 7_200 };

/** A period until now, or the time between two moments (ISO 8601). */
export type Range = Period | { readonly since: string; readonly until: string };

export const isPeriod = (range: Range): range is Period => typeof range === 'string';
export const rangeInput = (range: Range) => (isPeriod(range) ? { period: range } : range);
export const seriesInput = (range: Range) =>
  isPeriod(range) ? { period: range, interval_seconds: INTERVAL_SECONDS[range] } : range;
export const minutesOf = (range: Range): number =>
  isPeriod(range) ? PERIOD_MINUTES[range] : (Date.parse(range.until) - Date.parse(range.since)) / 60_000;
/** The same range in the address of the request log. */
export const callsRange = (range: Range) => (isPeriod(range) ? { range } : { from: range.since, until: range.until });
/** The same caller filter for the request log; undefined where the log has no such filter. */
export const callsFilter = ({ client, person, token }: CallerFilter): { readonly client?: string } | undefined => {
  if (person !== undefined || token !== undefined) return undefined;
  return client === undefined ? {} : { client };
};
/** The callers whose calls are included. */
export type CallerFilter = Partial<Readonly<Record<CallerKey, string>>>;

/** Whether the metrics of the previous period are within the retention. */
export const canCompare = (range: Range, now: number): boolean => {
  const from = isPeriod(range) ? now - minutesOf(range) * 60_000 : Date.parse(range.since);
  return from - minutesOf(range) * 60_000 >= now - HOURS_RETENTION_DAYS * 86_400_000;
};

/** The relative change: `+12%`; undefined: nothing to compare with. */
export function changeOf(now: number, before: number | undefined): string | undefined {
  if (before === undefined || before === 0) return undefined;
  const part = Math.round(((now - before) / before) * 100);
  return `${part > 0 ? '+' : part < 0 ? '−' : '±'}${percent(Math.abs(part) / 100)}`;
}

/** Start of a period that ends now. */
export const startOf = (period: Period, now: number): string => new Date(now - PERIOD_MINUTES[period] * 60_000).toISOString();

/** Usage of a definition, by kind and name. */
export interface UsageRow extends Usage {
  /** `tool:list_orders`. */
  readonly key: string;
  readonly kind: Kind;
  readonly name: string;
}

export const keyOf = (kind: Kind, name: string): string => `${kind}:${name}`;

/** The kind and name of a key in an address; undefined for an invalid key. */
export function fromKey(key: string): { kind: Kind; name: string } | undefined {
  const at = key.indexOf(':');
  const kind = KINDS.find((candidate) => candidate === key.slice(0, at));
  return kind === undefined || key.length === at + 1 ? undefined : { kind, name: key.slice(at + 1) };
}

export const toRows = (stats: Stats): UsageRow[] =>
  KINDS.flatMap((kind) =>
    Object.entries(stats[ENTITIES[kind].plural]).map(([name, usage]) => ({ ...usage, key: keyOf(kind, name), kind, name })),
  );

interface Totals {
  readonly calls: number;
  readonly errors: number;
  readonly error_rate: number;
  /** Over all calls that ran. */
  readonly avg_ms: number;
}

export function totalsOf(counted: readonly Pick<Usage, 'calls' | 'errors' | 'ran' | 'avg_ms'>[]): Totals {
  let [calls, errors, ran, duration_ms] = [0, 0, 0, 0];
  for (const usage of counted) {
    calls += usage.calls;
    errors += usage.errors;
    ran += usage.ran;
    duration_ms += usage.avg_ms * usage.ran;
  }
  return { calls, errors, error_rate: calls === 0 ? 0 : errors / calls, avg_ms: ran === 0 ? 0 : duration_ms / ran };
}

/** The rows with the highest values of a field, without zeros. */
export const topBy = (rows: readonly UsageRow[], field: 'calls' | 'errors' | 'p95_ms', most: number): UsageRow[] =>
  rows
    .filter((row) => row[field] > 0)
    .toSorted((a, b) => b[field] - a[field] || (a.name < b.name ? -1 : 1))
    .slice(0, most);

/** The tone of an error rate. */
export const errorTone = (error_rate: number): 'good' | 'warning' | 'bad' =>
  error_rate === 0 ? 'good' : error_rate < 0.05 ? 'warning' : 'bad';

/** Whether there is exactly one value, which is drawn as a dot. */
export const isLonePoint = (values: ArrayLike<number | null | undefined>): boolean =>
  Array.from(values).filter((value) => typeof value === 'number').length === 1;

/** The points of a sparkline of `width` by `height`, as an SVG path; empty with fewer than two values. */
export function sparkPath(values: readonly number[], width: number, height: number): string {
  if (values.length < 2) return '';
  const most = Math.max(...values, Number.MIN_VALUE);
  const step = width / (values.length - 1);
  return values
    .map((value, index) => `${index === 0 ? 'M' : 'L'}${round(index * step)} ${round(height - (value / most) * height)}`)
    .join('');
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** The sessions of one caller, by time. */
export const sessionsHref = (by: CallerKey, key: string): string =>
  `/logs?${new URLSearchParams({ view: 'sessions', [by]: key })}`;

/** Stands in an address for clients without a name. */
export const UNNAMED_CLIENT = '(unnamed)';

/** Filters of the calls behind a metric. */
interface CallFilters {
  readonly kind?: Kind;
  readonly name?: string;
  /** `failed`: any outcome except `ok`. */
  readonly outcome?: 'failed' | CallOutcome;
  readonly range?: Period | 'all';
  readonly from?: string;
  readonly until?: string;
  readonly connection?: string;
  /** Client name without the version, or `UNNAMED_CLIENT`. */
  readonly client?: string;
  /** Id of the canary that answered. */
  readonly canary?: string;
}

export const callsHref = (filters: CallFilters): string =>
  `/logs?${new URLSearchParams(filters as Readonly<Record<string, string>>)}`;
/** The latest of calls that failed alike, open among them. */
export const failureHref = (
  { kind, name, outcome, call_id }: Pick<Output<'logs.failures'>['items'][number], 'kind' | 'name' | 'outcome' | 'call_id'>,
  range: Period | 'all',
): string => `${callsHref({ kind, name, outcome, range })}&call=${call_id}`;
export const metricsHref = (period: Period, key?: string): string =>
  `/metrics?${new URLSearchParams({ ...(period === '24h' ? {} : { period }), ...(key === undefined ? {} : { of: key }) })}`;
