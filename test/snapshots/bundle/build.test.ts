import { describe, expect, test } from 'bun:test';
import { engineOf } from '#core/engines/index.ts';
import { addressIn } from '#mcp-host/edge/bindings.ts';
import { loadBundle } from '#mcp-host/edge/load.ts';
import { sha256, quickHash } from '#mcp-host/edge/runtime.ts';
import { xxHash64 } from '#core/lib/xxhash64.ts';
import { DbType } from '#core/contract/definitions/connections.ts';
import { buildBundle } from '#snapshots/bundle/build.ts';
import { examineBundle } from '#snapshots/bundle/check.ts';
import { BUNDLE_TARGETS } from '#core/engines/shared/descriptor.ts';
import { bundledText, freezeBundle, usedConnections } from '#snapshots/bundle/freeze-bundle.ts';
import type { FrozenConnection, FrozenServer } from '#snapshots/format/format.ts';
import { toBlobs, toTree } from '#snapshots/format/tree.ts';
import { testCaller } from '#test/mcp-host/callers.ts';
import { connectionOf, keyring, resourceOf, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { fc } from '#test/support/chance.ts';
import { bundleOf } from '#test/support/edge.ts';
import { shopOf } from './shop.ts';

const NO_TOKENS = { tokens: [], require_auth: false };
const AT = '2026-01-01T00:00:00.000Z';
const shop = () =>
  shopOf(
    { postgres: { host: 'db.example.com' }, libsql: { host: 'lite.example.com' }, libsql_token: 'token-of-the-libsql-database' },
    'mask-key',
  );
const served = (connection: Partial<FrozenConnection>, server: Partial<FrozenServer> = {}) => {
  const own = connectionOf({ name: 'shop', ...connection });
  return snapshotOf(1, {
    connections: [own],
    tools: [toolOf(own, 'first', 'select 1 as a'), toolOf(own, 'second', 'select 2 as a')],
    server,
  });
};
const faultsOf = (
  connection: Partial<FrozenConnection>,
  server: Partial<FrozenServer> = {},
  target: 'workers' | 'deno' = 'workers',
) => examineBundle(served(connection, server), NO_TOKENS, target).faults;

/** What workerd has of Node with the flag nodejs_compat, as far as a bundle uses it. */
const BUILTINS = [
  'async_hooks',
  'buffer',
  'crypto',
  'dns/promises',
  'fs',
  'fs/promises',
  'net',
  'os',
  'path',
  'stream',
  'timers/promises',
  'tls',
  'util',
  'zlib',
];

describe('a bundle', () => {
  test.each([...BUNDLE_TARGETS])('for %s is small, holds no secret, and evaluates no text', async (target) => {
    const { snapshot, tokens, bindings, callers } = await shop();
    const text = await bundleOf(snapshot, target, tokens);
    expect(Bun.gzipSync(text).length).toBeLessThan(1024 * 1024);
    for (const secret of Object.values(bindings)) expect(text.includes(secret)).toBe(false);
    for (const { authorization = '' } of Object.values(callers))
      expect(authorization !== '' && text.includes(authorization.slice(7))).toBe(false);
    for (const { secret_hash } of tokens) expect(text.includes(secret_hash.$sealed)).toBe(false);
    expect(text).not.toMatch(/\bv1\.[0-9a-f]{8}\.[\w-]+\.[\w-]+/);
    expect(text).not.toMatch(/\bnew Function\b|(?<![.\w])eval\(/);
    const { imports, exports } = new Bun.Transpiler({ loader: 'js' }).scan(text);
    const known = [...BUILTINS.map((name) => `node:${name}`), ...(target === 'workers' ? ['cloudflare:sockets'] : [])];
    expect(imports.map(({ path }) => path).filter((path) => !known.includes(path))).toEqual([]);
    expect(exports).toEqual(['default']);
  });

  test('of the same snapshot is the same text', async () => {
    const { snapshot, tokens } = await shop();
    expect(await bundleOf(snapshot, 'workers', tokens)).toBe(await bundleOf(structuredClone(snapshot), 'workers', tokens));
  });

  test('has the definitions with the hashes of the snapshot, and no connection that nothing uses', async () => {
    const { snapshot } = await shop();
    const spare = connectionOf({ name: 'spare', db_type: 'mysql' });
    const more = { ...snapshot, content: { ...snapshot.content, connections: [...snapshot.content.connections, spare] } };
    expect(examineBundle(more, NO_TOKENS, 'workers').faults).toEqual([]);
    const { leaves } = freezeBundle({ snapshot: more, tokens: [], as_of: AT });
    expect(leaves.filter(({ kind }) => kind === 'connection').map(({ name }) => name)).toEqual(['Shop & co', 'lite']);
    const definitions = ({ kind }: { kind: string }) => kind !== 'connection' && kind !== 'server';
    const expected = toTree(toBlobs(snapshot.content)).leaves.filter(definitions);
    expect(leaves.filter(definitions).map(({ kind, name, hash }) => ({ kind, name, hash }))).toEqual(
      expected.map(({ kind, name, hash }) => ({ kind, name, hash })),
    );
  });

  test('names the binding of each secret after its connection', () => {
    const place = (id: string, name: string) => ({ $sealed: keyring.seal('secret', `connection/${id}/${name}`) });
    const a = connectionOf({
      id: 'a',
      name: 'Main DB',
      db_type: 'postgresql',
      password: place('a', 'password'),
      // A reference is a binding too.
      ssl_key: { ref: 'file:/run/secrets/key' },
    });
    const b = connectionOf({
      id: 'b',
      name: 'main-db',
      db_type: 'libsql',
      password: place('b', 'password'),
      extra_params: { token: place('b', 'extra_params/token') },
    });
    const snapshot = snapshotOf(1, {
      connections: [a, b],
      tools: [toolOf(a, 'x', 'select 1 as a')],
      resources: [resourceOf(b, 'x://y', 'select 1')],
    });
    const bundled = freezeBundle({ snapshot, tokens: [], as_of: AT });
    expect(JSON.stringify(bundled)).not.toContain('/run/secrets');
    expect(bundled.secrets).toEqual({
      'connection/a/password': 'MAIN_DB_06E2BA_PASSWORD',
      'connection/a/ssl_key': 'MAIN_DB_06E2BA_SSL_KEY',
      'connection/b/password': 'MAIN_DB_45AE5F_PASSWORD',
      'connection/b/extra_params/token': 'MAIN_DB_45AE5F_TOKEN',
    });
  });

  test('asks for a secret by a name that no other connection ever has, whichever come and go', () => {
    const names = ['магазин', 'аптека', 'Shop DB', 'shop-db', 'lager', '7'];
    const all = names.map((name, index) =>
      connectionOf({ id: `c${index}`, name, db_type: 'libsql', password: { $sealed: `connection/c${index}/password` } }),
    );
    const owners = new Map<string, string>();
    for (let some = 1; some < 2 ** all.length; some++) {
      // Those of one word are both there, or neither is.
      const connections = all.filter((_, index) => (some >> (index === 3 ? 2 : index)) % 2 === 1);
      const tools = connections.map((connection) => toolOf(connection, `t${connection.id}`, 'select 1 as a'));
      const { secrets } = freezeBundle({ snapshot: snapshotOf(1, { connections, tools }), tokens: [], as_of: AT });
      for (const [place, name] of Object.entries(secrets)) {
        expect(owners.get(name) ?? place).toBe(place);
        owners.set(name, place);
        expect(name).toMatch(/^[A-Z][A-Z0-9_]*_PASSWORD$/);
      }
    }
    expect(owners.size).toBe(all.length);
  });

  test('holds the tokens that count, as their digests alone', async () => {
    const { live } = await testCaller('ada', { sub: 'ada' });
    const idle = { ...live, id: 'idle', name: 'sleepy', idle_timeout_minutes: 5 };
    const revoked = { ...live, id: 'revoked', name: 'former', revoked: true };
    const all = [live, idle, revoked];
    const of = (server: Partial<FrozenServer>) =>
      freezeBundle({ snapshot: served({ db_type: 'postgresql' }, server), tokens: all, as_of: AT }).tokens;
    expect(of({ auth_type: 'bearer' })).toEqual([
      {
        id: live.id,
        name: 'ada',
        token_prefix: live.token_prefix,
        toolsets: null,
        claims: { sub: 'ada' },
        created_at: live.created_at,
        expires_at: null,
        digest: live.digest,
      },
    ]);
    expect(of({ auth_type: 'jwt' })).toHaveLength(1);
    expect(of({ auth_type: 'jwt', accept_mcp_tokens: false })).toEqual([]);
    expect(of({ auth_type: 'none' })).toEqual([]);
    const { warnings } = examineBundle(
      served({ db_type: 'postgresql' }, { auth_type: 'bearer' }),
      { tokens: all, require_auth: false },
      'deno',
    );
    expect(warnings).toContainEqual(expect.stringContaining('1 access token is in the bundle'));
    expect(warnings).toContainEqual(expect.stringContaining('The access token sleepy is left out'));
    expect(warnings.join('\n')).not.toContain('former');
  });

  test('is refused while a tool offers its whole result as a file', () => {
    const own = connectionOf({ db_type: 'postgresql', name: 'shop' });
    const tools = [toolOf(own, 'report', 'select 1 as a', { files: 'csv' }), toolOf(own, 'plain', 'select 1 as a')];
    const snapshot = snapshotOf(1, { connections: [own], tools });
    for (const target of ['workers', 'deno', 'bun'] as const) {
      expect(examineBundle(snapshot, NO_TOKENS, target).faults).toEqual([
        'files cannot be bundled: a bundle serves no downloads. It is used by report. Set files of these tools to null, or leave the tools out.',
      ]);
    }
  });

  test('that is too large is refused with its sizes', async () => {
    const own = connectionOf({ db_type: 'postgresql' });
    const noise = (n: number) => Array.from({ length: 2_000 }, (_, i) => sha256(`${n} ${i}`)).join('');
    const tools = Array.from({ length: 20 }, (_, n) =>
      toolOf(own, `tool_${n}`, 'select 1 as a', { listing: { name: `tool_${n}`, description: noise(n) } }),
    );
    const snapshot = snapshotOf(1, { connections: [own], tools });
    const built = buildBundle(freezeBundle({ snapshot, tokens: [], as_of: AT }), usedConnections(snapshot), 'workers');
    expect(await built.catch((error: Error) => error)).toMatchObject({
      code: 'invalid',
      detail: expect.stringMatching(/^The bundle has \d+ KiB as gzip, and 1024 KiB are allowed\. Its snapshot alone has \d+ KiB/),
    });
  });
});

describe('a binding that cannot be used', () => {
  const own = connectionOf({ name: 'shop', db_type: 'postgresql', host: 'db.example.com', password: { $sealed: '' } });
  const text = bundledText(
    freezeBundle({
      snapshot: snapshotOf(1, { connections: [own], tools: [toolOf(own, 'x', 'select 1 as a')] }),
      tokens: [],
      as_of: AT,
    }),
  );
  const lacksOf = async (bindings: Readonly<Record<string, unknown>>) => (await loadBundle(text, (name) => bindings[name])).lacks;

  test.each([
    ['SHOP_URL', 'postgres://u:50%off@db/shop'],
    ['SHOP_URL', 'postgres://u:secret@db/50%off'],
    ['SHOP_URL', 'u:50%off@db/shop'],
    ['SHOP_URL', 'secret@db.example.com/shop'],
    ['SHOP_URL', 'postgres://u:secret@db/shop?sslmode=verify_full'],
    ['SHOP_HYPERDRIVE', { connectionString: 'postgres://u:50%off@db/shop' }],
    ['SVC_MCP_PUBLIC_URL', 'mcp.secret.example.com'],
    ['SVC_MCP_PUBLIC_URL', 'mcp:secret'],
  ])('is named without its value: %s %j', async (name, value) => {
    const lacks = (await lacksOf({ SHOP_PASSWORD: 'x', [name]: value })) ?? '';
    expect(lacks).toStartWith(`${name} must be a URL such as `);
    expect(lacks).not.toMatch(/off|secret/);
    expect(await lacksOf({ [name]: value })).toBe(`This bundle lacks a binding: set SHOP_PASSWORD where it runs. ${lacks}`);
  });

  test.each([
    ['https://shop.turso.io', null],
    ['libsql://shop.turso.io', null],
    ['http://localhost:8080', 'disable'],
    ['https://shop.turso.io?sslmode=disable', 'disable'],
    ['postgres://db/shop', 'disable'],
    ['postgres://db/shop?sslmode=verify-full', 'verify-full'],
  ])('a scheme that encrypts is believed, whatever the snapshot says: %s %p', (url, ssl_mode) => {
    const plain = connectionOf({ ...own, ssl_mode: 'disable' });
    expect(addressIn((name) => (name === 'SHOP_URL' ? url : undefined), 'SHOP', plain)?.ssl_mode ?? null).toEqual(
      ssl_mode as never,
    );
  });

  test('is none where it can be read', async () => {
    expect(await lacksOf({ SHOP_URL: 'postgres://u:50%25off@db/shop' })).toBeNull();
    expect(await lacksOf({ SHOP_PASSWORD: 'x', SVC_MCP_PUBLIC_URL: 'https://mcp.example.com/' })).toBeNull();
  });
});

describe('what cannot work is refused by name', () => {
  test.each(DbType.options.filter((db_type) => engineOf(db_type).bundle === undefined))('%s', (db_type) => {
    const [fault, ...more] = faultsOf({ db_type });
    expect(more).toEqual([]);
    expect(fault).toMatch(
      /^The connection shop cannot be bundled: bundles reach PostgreSQL and libSQL over the network, and this is .+\. It is used by first, second\.$/,
    );
  });

  test.each(['oauth', 'oauth_credentials', 'oauth_introspection'] as const)('auth_type %s', (auth_type) => {
    expect(faultsOf({ db_type: 'postgresql' }, { auth_type })).toEqual([
      expect.stringContaining(`auth_type ${auth_type} cannot be bundled: `),
    ]);
  });

  test('auth_type none, where the installation requires credentials, and else it is the first warning', () => {
    const of = (server: Partial<FrozenServer>, require_auth: boolean) =>
      examineBundle(served({ db_type: 'postgresql' }, server), { tokens: [], require_auth }, 'deno');
    // A bundle listens where its platform does.
    for (const host of ['0.0.0.0', '127.0.0.1']) {
      const server = { auth_type: 'none', host } as const;
      expect(of(server, true).faults).toEqual([expect.stringMatching(/^auth_type none cannot be bundled: .*SVC_REQUIRE_AUTH/)]);
      expect(of(server, false).faults).toEqual([]);
      expect(of(server, false).warnings[0]).toMatch(/^auth_type none: anyone who can reach the bundle can call its tools/);
    }
    for (const require_auth of [true, false]) {
      const { faults, warnings } = of({ auth_type: 'bearer' }, require_auth);
      expect(faults).toEqual([]);
      expect(warnings.join()).not.toContain('without credentials');
    }
  });

  test('standard input and output', () => {
    expect(faultsOf({ db_type: 'libsql' }, { transport: 'stdio' })).toEqual([
      expect.stringContaining('transport stdio cannot be bundled'),
    ]);
  });

  test('a connection through an SSH server', () => {
    const hop = {
      host: 'bastion',
      port: 22,
      username: 'tunnel',
      private_key: null,
      passphrase: null,
      password: null,
      host_key: null,
    };
    for (const target of ['workers', 'deno'] as const) {
      expect(faultsOf({ db_type: 'postgresql', ssh: { ...hop, jump: [] } }, {}, target)).toEqual([
        expect.stringContaining('The connection shop goes through an SSH tunnel'),
      ]);
    }
  });

  test('a connection with several hosts or a target', () => {
    for (const several of [{ host: 'db1.example.com,db2.example.com' }, { target: 'primary' as const }]) {
      expect(faultsOf({ db_type: 'postgresql', ...several }, {}, 'deno')).toEqual([
        expect.stringContaining('The connection shop has several hosts or a target'),
      ]);
    }
  });

  test('certificates that a platform cannot check', () => {
    const own = { ssl_ca: 'PEM' };
    expect(faultsOf({ db_type: 'postgresql', ...own })).toEqual([
      expect.stringContaining('The connection shop has certificates of its own'),
    ]);
    expect(faultsOf({ db_type: 'postgresql', ...own }, {}, 'deno')).toEqual([]);
    expect(faultsOf({ db_type: 'postgresql', ssl_mode: 'require' })).toEqual([
      expect.stringContaining('Set ssl_mode to verify-full'),
    ]);
    expect(faultsOf({ db_type: 'libsql', ...own }, {}, 'deno')).toEqual([
      expect.stringContaining('The connection shop has certificates of its own'),
    ]);
    expect(faultsOf({ db_type: 'libsql', ssl_mode: 'verify-full' })).toEqual([]);
  });
});

test('what holds only in part is said by name', () => {
  const own = connectionOf({ name: 'shop', db_type: 'postgresql' });
  const tools = [
    toolOf(own, 'kept', 'select 1 as a', { cache_ttl_seconds: 5 }),
    toolOf(own, 'slow', 'select 1 as a', { rate_limit_per_minute: 5 }),
  ];
  const snapshot = snapshotOf(1, { connections: [own], tools, server: { transport: 'sse', otel_enabled: true } });
  const { faults, warnings } = examineBundle(snapshot, NO_TOKENS, 'workers');
  expect(faults).toEqual([]);
  for (const part of [
    'transport sse',
    'otel_enabled',
    'connection shop',
    'cache_ttl_seconds',
    ': kept.',
    ': slow.',
    'subscriptions/listen',
  ]) {
    expect(warnings.join('\n')).toContain(part);
  }
});

test('the quick hash of an isolate is that of Bun', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => xxHash64(text) === Bun.hash.xxHash64(text)));
  expect(quickHash('sales')).toBe(Number(Bun.hash.xxHash64('sales') & 0xf_ffff_ffff_ffffn));
});
