import type { JWK } from 'jose';

/** An authorization server of somebody else as far as its keys are concerned, good or hostile. */
export interface TestIssuer {
  readonly url: string;
  /** Paths that were asked for, in their order. */
  readonly asked: string[];
  keys: readonly JWK[];
  /** Answers instead of the documents while it is set. */
  answer: ((path: string) => Response | Promise<Response> | null) | null;
  stop(): Promise<void>;
  /** Serves again at the same address. */
  again(): void;
}

export function testIssuer(): TestIssuer {
  const serve = (port: number) =>
    Bun.serve({
      hostname: '127.0.0.1',
      port,
      async fetch(request) {
        const { pathname } = new URL(request.url);
        issuer.asked.push(pathname);
        const instead = await issuer.answer?.(pathname);
        if (instead) return instead;
        if (pathname === '/.well-known/openid-configuration')
          return Response.json({ issuer: issuer.url, jwks_uri: `${issuer.url}/keys` });
        if (pathname === '/keys') return Response.json({ keys: issuer.keys });
        return new Response('', { status: 404 });
      },
    });
  let server = serve(0);
  const port = Number(server.port);
  const issuer: TestIssuer = {
    url: `http://127.0.0.1:${port}`,
    asked: [],
    keys: [],
    answer: null,
    stop: () => server.stop(true),
    again() {
      server = serve(port);
    },
  };
  return issuer;
}
