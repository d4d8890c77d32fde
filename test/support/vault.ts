/** A server that answers as Vault's KV engine of version 2 and its AppRole do; Vault itself cannot be installed here. */
export interface TestVault {
  readonly url: string;
  /** Secrets by `mount/path`. */
  readonly secrets: Map<string, Readonly<Record<string, unknown>>>;
  readonly tokens: Set<string>;
  readonly requests: { readonly path: string; readonly namespace: string | null }[];
  /** While true, every request is refused. */
  sealed: boolean;
  stop(): Promise<void>;
}

export function testVault(): TestVault {
  const secrets: TestVault['secrets'] = new Map();
  const tokens: TestVault['tokens'] = new Set();
  const requests: TestVault['requests'] = [];
  const vault = { secrets, tokens, requests, sealed: false };
  const refuse = (status: number, message: string) => Response.json({ errors: [message] }, { status });
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname } = new URL(request.url);
      requests.push({ path: pathname, namespace: request.headers.get('x-vault-namespace') });
      if (vault.sealed) return refuse(503, 'Vault is sealed');
      if (pathname === '/v1/auth/approle/login') {
        const { role_id, secret_id } = (await request.json()) as Record<string, string>;
        if (role_id !== 'role' || secret_id !== 'secret') return refuse(400, 'invalid role or secret ID');
        const client_token = `s.${crypto.randomUUID()}`;
        tokens.add(client_token);
        return Response.json({ auth: { client_token, lease_duration: 60 } });
      }
      if (!tokens.has(request.headers.get('x-vault-token') ?? '')) return refuse(403, 'permission denied');
      const [, mount, path] = /^\/v1\/([^/]+)\/data\/(.+)$/.exec(pathname) ?? [];
      const data = secrets.get(`${mount}/${path}`);
      return data === undefined ? refuse(404, 'not found') : Response.json({ data: { data, metadata: { version: 1 } } });
    },
  });
  return Object.assign(vault, { url: server.url.origin, stop: () => server.stop(true) });
}
