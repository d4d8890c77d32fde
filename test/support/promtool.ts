import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';

/** The tester of Prometheus; null: it is not installed. */
export const promtool = Bun.which('promtool');

/** The samples of one program at two times, as `/metrics` printed them. */
export interface Scrapes {
  readonly instance: string;
  readonly before: string;
  readonly after: string;
  /** Seconds since 1970 by the program's clock at each of them. */
  readonly times: readonly [before: number, after: number];
}

const STEP_MIN = 10;
const END_MIN = 40;

/** Values by series, such as `sluice_streams{a="b"}`. */
function samplesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

/** A timestamp keeps its age: the clock of the tester begins at 1970. */
const shifted = (series: string, value: number, now: number, minute: number): number =>
  series.includes('_timestamp_seconds') ? value - now + minute * 60 : value;

/** Ten minutes with the first sample, then half an hour with the second. */
function seriesOf({ instance, before, after, times }: Scrapes, isUsed: (name: string) => boolean) {
  const [first, second] = [samplesOf(before), samplesOf(after)];
  const used = [...new Set([...first.keys(), ...second.keys()])].filter((series) => isUsed(series.split('{')[0] ?? ''));
  return used.map((series) => {
    const value = (of: Map<string, number>, now: number, minute: number): string | null => {
      const found = of.get(series);
      return found === undefined ? null : String(shifted(series, found, now, minute));
    };
    const start = value(first, times[0], STEP_MIN);
    const end = value(second, times[1], END_MIN);
    const label = `instance="${instance}"`;
    return {
      series: series.includes('{') ? series.replace('{', `{${label},`) : `${series}{${label}}`,
      values: [
        start === null ? `_x${STEP_MIN - 1}` : `${start}+0x${STEP_MIN - 1}`,
        end === null ? `_x${END_MIN - STEP_MIN}` : `${end}+0x${END_MIN - STEP_MIN}`,
      ].join(' '),
    };
  });
}

/** Whether each alert of a file of rules fires at some time with these samples. @param names of the metrics that they use. */
export function firing(rules: string, alerts: readonly string[], names: ReadonlySet<string>, scrapes: readonly Scrapes[]) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-alerts-'));
  const input_series = scrapes.flatMap((one) => seriesOf(one, (name) => names.has(name)));
  const fires = (alert: string): boolean => {
    const file = join(folder, `${alert}.yaml`);
    const expr = `max_over_time(min(ALERTS{alertname="${alert}",alertstate="firing"})[${END_MIN}m:1m])`;
    const promql_expr_test = [{ expr, eval_time: `${END_MIN}m`, exp_samples: [{ labels: '{}', value: 1 }] }];
    const tests = [{ interval: '1m', input_series, promql_expr_test }];
    writeFileSync(file, stringify({ rule_files: [rules], evaluation_interval: '1m', tests }));
    const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? '', 'test', 'rules', file]);
    const said = stdout.toString() + stderr.toString();
    if (exitCode !== 0 && !said.includes('got:')) throw new Error(said);
    return exitCode === 0;
  };
  try {
    return alerts.filter(fires);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Checks the form of a file of rules. @returns what is wrong with it. */
export function faultsOf(rules: string): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? '', 'check', 'rules', rules]);
  return exitCode === 0 ? '' : stdout.toString() + stderr.toString();
}
