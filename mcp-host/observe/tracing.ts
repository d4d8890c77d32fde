import type { FrozenServer } from '#snapshots/format/format.ts';
import type { RequestRecord } from '#mcp-host/requests/request-record.ts';
import type { Log } from '#core/process/log.ts';
import type { Collector, Recorder } from './tracing-recorder.ts';

/** Records spans of requests while `otel_enabled` is set in the deployed configuration. */
export interface Tracing {
  add(record: RequestRecord): void;
  use(server: Pick<FrozenServer, 'otel_enabled' | 'server_name'>): void;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

export interface TracingOptions {
  /** Null: nothing is recorded. */
  readonly collector: Collector | null;
  /** Names this host. */
  readonly id: string;
  readonly log: Log;
}

export function createTracing({ collector, id, log }: TracingOptions): Tracing {
  let recorder: Recorder | null = null;
  let current_service: string | null = null;
  let changes: Promise<void> = Promise.resolve();

  const change = async (service: string | null): Promise<void> => {
    const old = recorder;
    recorder = null;
    await old?.close();
    if (service === null || collector === null || service !== current_service) return;
    const { createRecorder } = await import('./tracing-recorder.ts');
    recorder = createRecorder({ collector, id, service, log });
    log.info('tracing_on', { endpoint: new URL(collector.endpoint).origin });
  };
  const become = (service: string | null): Promise<void> => {
    current_service = service;
    changes = changes
      .then(() => change(service))
      .catch((error: unknown) => log.warning('tracing_failed', { error: String(error) }));
    return changes;
  };

  return {
    add(record) {
      recorder?.record(record, performance.now());
    },
    use({ otel_enabled, server_name }) {
      const service = otel_enabled ? server_name : null;
      if (otel_enabled && collector === null) {
        log.warning('tracing_without_endpoint', {
          detail: 'Set SVC_OTLP_ENDPOINT of the host: otel_enabled has no effect without it.',
        });
        return;
      }
      if (service !== current_service) void become(service);
    },
    close: () => become(null),
  };
}
