import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from './certificates.ts';

/** A proxy with a certificate in front of a program that speaks plain HTTP, as an operator would put there. */
export interface TlsFront {
  readonly url: string;
  /** The authority that signed its certificate. */
  readonly ca: string;
  /** The same for programs that read it from a file. */
  readonly ca_file: string;
  stop(): Promise<void>;
}

/** @param port of the proxy. @param target URL of the program, read at each request. */
export async function startTlsFront(port: number, target: () => string): Promise<TlsFront> {
  const authority = await createAuthority('Sluice test');
  const tls = await authority.issue('DNS:localhost', 'IP:127.0.0.1');
  const folder = await mkdtemp(join(tmpdir(), 'sluice-front-'));
  const ca_file = join(folder, 'ca.pem');
  await Bun.write(ca_file, authority.ca);
  const url = `https://localhost:${port}`;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port,
    tls,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.set('host', new URL(url).host);
      headers.set('x-forwarded-proto', 'https');
      headers.set('x-forwarded-for', '203.0.113.9');
      const { method, body, signal } = request;
      const answer = await fetch(`${target()}${pathname}${search}`, {
        method,
        headers,
        body,
        signal,
        redirect: 'manual',
        decompress: false,
      });
      return new Response(answer.body, { status: answer.status, headers: answer.headers });
    },
  });
  return {
    url,
    ca: authority.ca,
    ca_file,
    async stop() {
      await server.stop(true);
      await authority.remove();
      await rm(folder, { recursive: true });
    },
  };
}
