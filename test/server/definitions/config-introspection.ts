import { expect } from 'bun:test';
import type { RpcAnswer } from '#test/mcp-host/support.ts';
import type { Answer } from '#test/support/app.ts';

interface Introspected {
  readonly patch: (body: object) => Promise<Answer>;
  readonly deploy: () => Promise<Answer>;
  readonly initialize: (headers?: Record<string, string>) => Promise<RpcAnswer>;
  readonly exported: () => Promise<Answer>;
  readonly mcp: () => URL;
}

const FIELDS = ['url', 'client_id', 'client_secret', 'cache_ttl_seconds', 'issuer', 'scopes', 'audience'] as const;

/** What each setting of introspection does: one walk that needs them all. */
export const introspectionEffects = (
  parts: Introspected,
): Record<`introspection_${(typeof FIELDS)[number]}`, () => Promise<void>> => {
  const walk = () => introspected(parts);
  return Object.fromEntries(FIELDS.map((field) => [`introspection_${field}`, walk])) as ReturnType<typeof introspectionEffects>;
};

/** Asks a server of its own with the stored credentials, as often as the setting says. */
async function introspected({ patch, deploy, initialize, exported, mcp }: Introspected): Promise<void> {
  const statusWith = async (token: string) => (await initialize({ authorization: `Bearer ${token}` })).status;
  const asked: (string | null)[] = [];
  using issuer = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      asked.push(request.headers.get('authorization'));
      const token = new URLSearchParams(await request.text()).get('token') ?? '';
      return Response.json({ active: token !== 'bad', ...(token === 'named' && { aud: 'shop' }) });
    },
  });
  await patch({
    auth_type: 'oauth_introspection',
    introspection_url: `http://127.0.0.1:${issuer.port}/introspect`,
    introspection_client_id: 'sluice',
    introspection_client_secret: 'of the resource server',
    introspection_cache_ttl_seconds: 60,
  });
  await deploy();
  expect([await statusWith('good'), await statusWith('good'), await statusWith('bad')]).toEqual([200, 200, 401]);
  expect(asked).toEqual(Array.from({ length: 2 }, () => `Basic ${btoa('sluice:of%20the%20resource%20server')}`));
  await patch({ introspection_cache_ttl_seconds: 0 });
  await deploy();
  for (let n = 0; n < 3; n++) await statusWith('good');
  expect(asked.length).toBe(5);
  const issuer_url = 'https://login.example.com/realms/shop';
  await patch({ introspection_issuer: issuer_url, introspection_scopes: ['mcp', 'offline'], introspection_audience: 'shop' });
  const { body } = await exported();
  expect(body['server_config']).toMatchObject({ introspection_issuer: issuer_url, introspection_audience: 'shop' });
  await deploy();
  expect([await statusWith('named'), await statusWith('good')]).toEqual([200, 401]);
  const document = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', mcp()));
  expect(await document.json()).toMatchObject({ authorization_servers: [issuer_url], scopes_supported: ['mcp', 'offline'] });
  expect((await initialize()).headers.get('www-authenticate')).toContain('scope="mcp offline"');
  const cleared = ['url', 'client_id', 'client_secret', 'issuer', 'audience'].map((name) => [`introspection_${name}`, null]);
  await patch({ auth_type: 'none', ...Object.fromEntries(cleared), introspection_scopes: [] });
  await deploy();
}
