import { readdir, readFile } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { metric } from './metrics-text.ts';

const LAG_MS = 10;
type Lag = ReturnType<typeof monitorEventLoopDelay>;

/**
 * Metrics of this process and its event loop, with the names that Prometheus clients use. The event loop is observed from the
 * first call on.
 */
export function createProcessMetrics(): () => Promise<string> {
  let lag: Lag | null = null;
  return async () => {
    if (lag === null) {
      lag = monitorEventLoopDelay({ resolution: LAG_MS });
      lag.enable();
    }
    const [status, limits, files] = await Promise.all([ofLinux('status'), ofLinux('limits'), openFiles()]);
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
    const text = [
      metric('counter', 'process_cpu_user_seconds_total', 'User CPU time.', userCPUTime / 1e6),
      metric('counter', 'process_cpu_system_seconds_total', 'System CPU time.', systemCPUTime / 1e6),
      metric('counter', 'process_cpu_seconds_total', 'User and system CPU time.', (userCPUTime + systemCPUTime) / 1e6),
      metric('gauge', 'process_start_time_seconds', 'Start of the process in seconds since 1970.', STARTED),
      metric('gauge', 'process_resident_memory_bytes', 'Resident memory.', rss),
      metric('gauge', 'process_virtual_memory_bytes', 'Virtual memory.', numberIn(status, /^VmSize:\s+(\d+) kB$/m, 1_024)),
      metric('gauge', 'process_heap_bytes', 'Size of the data segment.', numberIn(status, /^VmData:\s+(\d+) kB$/m, 1_024)),
      metric('gauge', 'process_open_fds', 'Open file descriptors.', files),
      metric('gauge', 'process_max_fds', 'File descriptors that may be open.', numberIn(limits, /^Max open files\s+(\d+)/m)),
      metric('gauge', 'nodejs_heap_size_total_bytes', 'Size of the heap.', heapTotal),
      metric('gauge', 'nodejs_heap_size_used_bytes', 'Used part of the heap.', heapUsed),
      metric('gauge', 'nodejs_external_memory_bytes', 'Memory outside the heap that its objects hold.', external),
      metric(
        'gauge',
        'nodejs_eventloop_lag_seconds',
        'Mean delay of the event loop since the last time.',
        inSeconds(lag, lag.mean),
      ),
      metric('gauge', 'nodejs_eventloop_lag_max_seconds', 'Longest delay since the last time.', inSeconds(lag, lag.max)),
      ...[50, 90, 99].map((percent) =>
        metric(
          'gauge',
          `nodejs_eventloop_lag_p${percent}_seconds`,
          `Percentile ${percent} of the delays since the last time.`,
          inSeconds(lag, lag?.percentile(percent)),
        ),
      ),
      metric('gauge', 'nodejs_version_info', 'The version of Node.js that the runtime stands for.', [
        [{ version: process.version }, 1],
      ]),
    ].join('');
    lag.reset();
    return text;
  };
}

const STARTED = Math.floor(performance.timeOrigin / 1_000);

/** Null before the first measurement. */
const inSeconds = (lag: Lag | null, ns = 0): number | null => (lag !== null && lag.count > 0 ? ns / 1e9 : null);

/** Kernel metrics are only available on Linux. */
const ofLinux = (file: string): Promise<string> => readFile(`/proc/self/${file}`, 'utf8').catch(() => '');
const openFiles = (): Promise<number | null> =>
  readdir('/proc/self/fd').then(
    (all) => all.length,
    () => null,
  );

function numberIn(text: string, pattern: RegExp, times = 1): number | null {
  const [, digits] = pattern.exec(text) ?? [];
  return digits === undefined ? null : Number(digits) * times;
}
