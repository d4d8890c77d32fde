import { ENTITIES, OWNED_KINDS, type OwnedKind } from '#core/contract/entities.ts';
import type { Output } from '#core/contract/index.ts';

export type Stats = Output<'metrics.stats'>;
export type Series = Output<'metrics.timeseries'>;
export type Usage = Stats['tools'][string];
export type Period = Series['period'];
export type Kind = OwnedKind;

export const PERIODS = ['1h', '6h', '24h', '7d'] as const satisfies readonly Period[];
export const KINDS = OWNED_KINDS;

/** As long a point as leaves each period at most 96 of them. */
export const INTERVAL_SECONDS: Readonly<Record<Period, number>> = { '1h': 60, '6h': 300, '24h': 900, '7d': 7_200 };
const HOURS: Readonly<Record<Period, number>> = { '1h': 1, '6h': 6, '24h': 24, '7d': 168 };

/** When a period that ends now begins. */
export const startOf = (period: Period, now: number): string => new Date(now - HOURS[period] * 3_600_000).toISOString();

/** What was called, by its kind and name. */
export interface UsageRow extends Usage {
  /** `tool:list_orders`. */
  readonly key: string;
  readonly kind: Kind;
  readonly name: string;
}

export const keyOf = (kind: Kind, name: string): string => `${kind}:${name}`;

/** The kind and name in a key of an address; undefined when it is none. */
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
  /** Over all calls. */
  readonly avg_ms: number;
}

export function totalsOf(counted: readonly Pick<Usage, 'calls' | 'errors' | 'avg_ms'>[]): Totals {
  let [calls, errors, duration_ms] = [0, 0, 0];
  for (const usage of counted) {
    calls += usage.calls;
    errors += usage.errors;
    duration_ms += usage.avg_ms * usage.calls;
  }
  return { calls, errors, error_rate: calls === 0 ? 0 : errors / calls, avg_ms: calls === 0 ? 0 : duration_ms / calls };
}

/** The rows with the most of something, those without any left out. */
export const topBy = (rows: readonly UsageRow[], field: 'calls' | 'errors' | 'p95_ms', most: number): UsageRow[] =>
  rows
    .filter((row) => row[field] > 0)
    .toSorted((a, b) => b[field] - a[field] || (a.name < b.name ? -1 : 1))
    .slice(0, most);

/** How worried a share of failures should make. */
export const errorTone = (error_rate: number): 'good' | 'brass' | 'bad' =>
  error_rate === 0 ? 'good' : error_rate < 0.05 ? 'brass' : 'bad';

/** Whether there is exactly one value, which needs a dot. */
export const isLonePoint = (values: ArrayLike<number | null | undefined>): boolean =>
  Array.from(values).filter((value) => typeof value === 'number').length === 1;

/** The points of a small line in a box of `width` by `height`, as an SVG path; empty without two values. */
export function sparkPath(values: readonly number[], width: number, height: number): string {
  if (values.length < 2) return '';
  const most = Math.max(...values, Number.MIN_VALUE);
  const step = width / (values.length - 1);
  return values
    .map((value, index) => `${index === 0 ? 'M' : 'L'}${round(index * step)} ${round(height - (value / most) * height)}`)
    .join('');
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** Places of this interface that show the calls behind a figure. */
interface CallsWanted {
  readonly kind?: Kind;
  readonly name?: string;
  readonly outcome?: 'failed' | 'ok';
  readonly range?: Period;
  readonly from?: string;
  readonly until?: string;
  readonly connection?: string;
}

export const callsHref = (wanted: CallsWanted): string =>
  `/logs?${new URLSearchParams({ view: 'requests', ...(wanted as Readonly<Record<string, string>>) })}`;
export const metricsHref = (period: Period, key?: string): string =>
  `/metrics?${new URLSearchParams({ ...(period === '24h' ? {} : { period }), ...(key === undefined ? {} : { of: key }) })}`;
