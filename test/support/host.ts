import type { App } from '#core/app.ts';

interface Sent {
  readonly version?: number;
  readonly checksum?: string;
  readonly request_id?: string;
}

/** A host as the server sees one: it takes whatever it is sent and says so, so that a deploy need not wait. */
export function connectHost(app: App, id = 'h1'): () => void {
  return app.hosts.connect(id, ({ event, data }) => {
    if (event !== 'snapshot' && event !== 'listen') return;
    const { version, checksum, request_id } = (typeof data === 'string' ? JSON.parse(data) : data) as Sent;
    const ack = {
      boot_id: 'boot',
      version: version ?? null,
      checksum: checksum ?? null,
      request_id: request_id ?? null,
      load_ms: 1,
      url: null,
      error: null,
    };
    queueMicrotask(() => app.hosts.acknowledge(id, ack));
  });
}
