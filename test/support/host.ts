import type { WithHosts } from '#core/hosts/host-registry.ts';

interface Sent {
  readonly version?: number;
  readonly checksum?: string;
  readonly request_id?: string;
  readonly revision?: string;
}

/** A host as the server sees one: it takes whatever it is sent and says so, so that a deploy need not wait. */
export function connectHost(
  app: Pick<WithHosts, 'hosts'>,
  id = 'h1',
  onEvent: (event: string) => void = () => undefined,
): () => void {
  return app.hosts.connect(id, ({ event, data }) => {
    onEvent(event);
    if (event !== 'snapshot' && event !== 'listen' && event !== 'beside') return;
    const sent = (typeof data === 'string' ? JSON.parse(data) : data) as Sent;
    const { version, checksum, request_id = sent.revision && `beside:${sent.revision}` } = sent;
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
