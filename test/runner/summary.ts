import type { Report } from './run-batch.ts';

const MOST_EXPENSIVE = 20;

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function print({ title, seconds, processor_seconds, output, passed, failed, skipped }: Report): void {
  if (failed.length > 0) say(`\n${output}\n`);
  const counts = [`${passed} passed`, failed.length && `${failed.length} failed`, skipped.length && `${skipped.length} skipped`];
  const cost = `${seconds.toFixed(1)} s, processor ${processor_seconds.toFixed(1)} s`;
  say(`${failed.length > 0 ? '✗' : '✓'} ${title}: ${counts.filter(Boolean).join(', ')} (${cost})`);
}

export interface Whole {
  readonly reports: readonly Report[];
  /** What this run left out, a sentence each. */
  readonly left_out: readonly string[];
  /** Titles that passed at their second try and had done so before. */
  readonly unsteady_again: readonly string[];
  readonly seconds: number;
}

/** @returns the exit code. */
export function summarise({ reports, left_out, unsteady_again, seconds }: Whole): number {
  const required = ['1', 'true'].includes(process.env['CI'] ?? '');
  const passed = reports.reduce((sum, report) => sum + report.passed, 0);
  const skipped = reports.flatMap((report) => report.skipped);
  const failed = [
    ...reports.flatMap((report) => report.failed),
    ...unsteady_again.map((title) => `${title} (passed at its second try, and test/runner/unsteady.txt had it already)`),
  ];
  if (required) failed.push(...skipped.splice(0).map((name) => `${name} (skipped, which CI=true does not allow)`));
  const unsteady = reports.flatMap((report) => report.unsteady ?? []);
  const processor_seconds = reports.reduce((sum, report) => sum + report.processor_seconds, 0);
  list(`The ${MOST_EXPENSIVE} most expensive (processor seconds, seconds):`, mostExpensive(reports));
  list('Not run:', left_out);
  list('Unsteady (failed at first, passed alone; now in test/runner/unsteady.txt):', unsteady);
  list('Skipped:', skipped);
  list('Failed:', failed);
  say(`\n${Math.round(seconds)} s, processor ${Math.round(processor_seconds)} s (without the database servers)`);
  say(`\n${passed} passed, ${failed.length} failed, ${skipped.length} skipped`);
  return failed.length > 0 ? 1 : 0;
}

function list(title: string, lines: readonly string[]): void {
  if (lines.length > 0) say(`\n${title}\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

function mostExpensive(reports: readonly Report[]): string[] {
  return reports
    .toSorted((a, b) => b.processor_seconds - a.processor_seconds)
    .slice(0, MOST_EXPENSIVE)
    .map(
      (report) => `${report.processor_seconds.toFixed(1).padStart(6)} ${report.seconds.toFixed(1).padStart(6)}  ${report.title}`,
    );
}
