import type { CallerStats } from '#core/contract/observe/metrics.ts';
import { CALL_OUTCOMES } from '#core/contract/observe/outcomes.ts';
import { toCsv } from '#core/lib/csv.ts';
import type { Series, UsageRow } from '#ui/src/kernel/metrics.ts';
import { saveFile } from '#ui/src/kernel/save-file.ts';

const METRICS = [
  'calls',
  'errors',
  'error_rate',
  'avg_ms',
  'p50_ms',
  'p95_ms',
  'p99_ms',
  'rows',
  'bytes',
  'last_called_at',
  'outcomes',
] as const;
const POINT = ['timestamp', 'calls', 'errors', 'avg_ms', 'p50_ms', 'p95_ms', 'p99_ms', 'outcomes'] as const;

export type Shown =
  | { readonly what: 'usage'; readonly rows: readonly UsageRow[] }
  | { readonly what: 'callers'; readonly rows: readonly CallerStats[] }
  | { readonly what: 'series'; readonly rows: Series['points'] };

const HEADS = {
  usage: ['kind', 'name', ...METRICS],
  callers: ['key', 'name', ...METRICS],
  series: POINT,
} as const;

const NO_OUTCOMES = Object.fromEntries(CALL_OUTCOMES.map((outcome) => [outcome, 0]));

/** What is on the page, as a file. */
export function saveMetrics(form: 'csv' | 'json', { what, rows }: Shown): void {
  const head: readonly string[] = HEADS[what];
  const records = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => head.includes(name))));
  // A table has one column for each outcome.
  const columns = [...head.filter((name) => name !== 'outcomes'), ...CALL_OUTCOMES];
  const text =
    form === 'csv'
      ? toCsv(
          columns,
          rows.map((row) => {
            const cells: Readonly<Record<string, unknown>> = { ...row, ...NO_OUTCOMES, ...row.outcomes };
            return columns.map((name) => cells[name]);
          }),
        )
      : JSON.stringify(records, null, 2);
  saveFile(`metrics-${what}.${form}`, form === 'csv' ? 'text/csv' : 'application/json', text);
}
