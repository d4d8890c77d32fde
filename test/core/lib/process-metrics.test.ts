import { expect, test } from 'bun:test';
import { createProcessMetrics } from '#core/lib/metrics/process-metrics.ts';

/** Values by name; every metric is announced by its own two lines, and none is there twice. */
function parse(text: string): Map<string, number> {
  const values = new Map<string, number>();
  const lines = text.trimEnd().split('\n');
  for (let at = 0; at < lines.length; at += 3) {
    const [, name = ''] = /^# HELP (\w+) \S.*\.$/.exec(lines[at] ?? '') ?? [];
    expect(lines[at + 1]).toMatch(new RegExp(`^# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}$`));
    const [, value] = new RegExp(`^${name}(?:\\{version="[^"]+"\\})? (\\d[\\d.e+-]*)$`).exec(lines[at + 2] ?? '') ?? [];
    expect([name, values.has(name), value]).toEqual([name, false, expect.any(String)]);
    values.set(name, Number(value));
  }
  return values;
}

test('a process says in the text format what it uses and how long its event loop was held up', async () => {
  const metrics = createProcessMetrics();
  const first = parse(await metrics());
  expect(first.get('process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
  expect(first.get('process_start_time_seconds')).toBeLessThanOrEqual(Date.now() / 1_000);
  expect(first.get('process_cpu_seconds_total')).toBeGreaterThan(0);
  if (process.platform === 'linux')
    expect(first.get('process_max_fds')).toBeGreaterThan(first.get('process_open_fds') ?? Infinity);

  await Bun.sleep(30);
  const until = performance.now() + 200;
  while (performance.now() < until);
  await Bun.sleep(30);
  const second = parse(await metrics());
  expect(second.get('nodejs_eventloop_lag_max_seconds')).toBeGreaterThan(0.1);
  expect(second.get('process_cpu_seconds_total')).toBeGreaterThan(first.get('process_cpu_seconds_total') ?? Infinity);
});
