import tls from 'node:tls';

export interface HttpsClient {
  /** A request to a name, over TLS that is checked against the authority. */
  readonly ask: (name: string, path: string, init?: RequestInit) => Promise<Response>;
  /** What is shown to a client that asks for a name; null: for none. Rejects when it is not trusted. */
  shown(name: string | null): Promise<{ serial: string; protocol: string | null; names: string }>;
}

/** Clients that find every name on this machine. */
export const httpsClient = (port: () => number | null, ca: () => string): HttpsClient => ({
  ask: (name, path, init = {}) =>
    fetch(`https://127.0.0.1:${port()}${path}`, {
      ...init,
      redirect: 'manual',
      headers: { host: name, ...(init.headers as Record<string, string> | undefined) },
      tls: { ca: ca(), serverName: name },
    }),
  shown: (name) =>
    new Promise((resolve, reject) => {
      const socket = tls.connect(
        {
          host: '127.0.0.1',
          port: port() ?? 0,
          ca: ca(),
          ...(name === null ? { rejectUnauthorized: false } : { servername: name }),
        },
        () => {
          const { serialNumber, subjectaltname } = socket.getPeerCertificate();
          resolve({ serial: serialNumber, protocol: socket.getProtocol(), names: subjectaltname ?? '' });
          socket.destroy();
        },
      );
      socket.on('error', reject);
    }),
});
