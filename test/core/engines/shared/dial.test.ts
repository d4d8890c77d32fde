import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { networkInterfaces } from 'node:os';
import { AppError } from '#core/errors.ts';
import { classifyAddress } from '#core/engines/shared/addresses.ts';
import { dialSocket, guardedFetch, resolveTarget, type Resolve } from '#core/engines/shared/dial.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { createAuthority, type Authority } from '#test/support/certificates.ts';

const strict: DialPolicy = { allow_private_networks: false, forbidden: [], sqlite_dir: '/nonexistent' };
const relaxed: DialPolicy = { ...strict, allow_private_networks: true };

function resolvesTo(...addresses: string[]): Resolve {
  return async () => addresses.map((address) => ({ address, family: net.isIPv6(address) ? 6 : 4 }));
}

async function refusal(work: Promise<unknown>): Promise<AppError> {
  const outcome: unknown = await work.then(
    () => 'it was allowed',
    (error: unknown) => error,
  );
  if (outcome instanceof AppError) return outcome;
  throw new Error(`no AppError but ${String(outcome)}`);
}

describe('an address', () => {
  test.each(['8.8.8.8', '2606:4700:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808', '2002:808:808::1'])(
    '%s is public',
    (address) => {
      expect(classifyAddress(address)).toBe('public');
    },
  );

  test.each([
    '127.0.0.1',
    '127.8.9.10',
    '0.0.0.0',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '198.18.0.1',
    '192.0.2.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::808:808',
    'fc00::1',
    'fd12:3456::1',
    'ff02::1',
    '2001:db8::1',
    '4000::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:0:8.8.8.8',
    '64:ff9b::7f00:1',
    '64:ff9b:1::808:808',
    '2002:7f00:1::1',
    '2002:c0a8:101::1',
    '2001:0:808:808::f7f7:f7f7',
  ])('%s is not public', (address) => {
    expect(classifyAddress(address)).toBe('private');
  });

  test.each([
    '169.254.169.254',
    '169.254.0.1',
    'fe80::1',
    'fe80::1%eth0',
    '::ffff:169.254.169.254',
    '::a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    '2001:0:808:808::5601:5601',
    'fd00:ec2::254',
    'fd20:ce::254',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    'not an address',
  ])('%s is never dialled', (address) => {
    expect(classifyAddress(address)).toBe('never');
  });
});

describe('a target', () => {
  test.each(['127.0.0.1', '127.1', '0177.0.0.1', '2130706433', '0x7f.1', '0', 'localhost', '[::1]'])(
    '%s is refused and the refusal names the variable',
    async (host) => {
      const error = await refusal(resolveTarget(host, 5432, strict));
      expect(error).toMatchObject({ code: 'private_network_blocked', reason: 'private_network_blocked' });
      expect(error.detail).toContain('SVC_ALLOW_PRIVATE_NETWORKS');
    },
  );

  test('one private address among public ones is enough to refuse', async () => {
    const error = await refusal(resolveTarget('db.example', 5432, strict, undefined, resolvesTo('8.8.8.8', '10.0.0.1')));
    expect(error.code).toBe('private_network_blocked');
  });

  test('a metadata address is refused even when private networks are allowed', async () => {
    for (const address of ['169.254.169.254', 'fe80::1', '::ffff:169.254.169.254', 'fd00:ec2::254', '100.100.100.200']) {
      const error = await refusal(resolveTarget('db.example', 5432, relaxed, undefined, resolvesTo('8.8.8.8', address)));
      expect(error.code).toBe('private_network_blocked');
    }
  });

  test.each([
    'a?b',
    'a#b',
    'a@b',
    'a:b',
    'a:1',
    'a b',
    ' a',
    'a\n',
    'a\\b',
    'a%b',
    '-a',
    'a-',
    '[::1',
    '::1]',
    '',
    '..',
    'a..b/',
    '"a"',
  ])('the host %j is refused as no name', async (host) => {
    const resolve = () => Promise.reject(new Error('it was looked up'));
    expect((await refusal(resolveTarget(host, 1, relaxed, undefined, resolve))).detail).toMatch(
      /is not a host name|contains a slash/,
    );
  });

  test.each([
    'db',
    'db_1.internal',
    'db.example.',
    'xn--bcher-kva.example',
    'bücher.example',
    'ख.example',
    '0x7f.1',
    '2130706433',
  ])('the host %j is looked up', async (host) => {
    expect((await resolveTarget(host, 1, strict, undefined, resolvesTo('8.8.8.8'))).address).toBe('8.8.8.8');
  });

  test('a request ends with its signal while a name server does not answer', async () => {
    const never: Resolve = () => new Promise(() => undefined);
    const late = new Error('too late');
    const caller = new AbortController();
    setTimeout(() => caller.abort(late), 20);
    const outcome: unknown = await guardedFetch('https://db.example', { signal: caller.signal }, strict, never).catch(
      (error: unknown) => error,
    );
    expect(outcome).toBe(late);
  });

  test('an answer that is compressed although it should not be is refused', async () => {
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: (request) =>
        new Response('x', { headers: { 'content-encoding': 'gzip', 'x-asked': String(request.headers.get('accept-encoding')) } }),
    });
    expect(await refusal(guardedFetch(server.url, { headers: { 'accept-encoding': 'gzip' } }, relaxed))).toMatchObject({
      code: 'database_unreachable',
      reason: 'failed',
    });
    await server.stop(true);
  });

  test.each(['/var/run/postgresql', '/tmp', 'a/b', 'https://a', 'a\0b'])(
    'the host %j is malformed, not forbidden',
    async (host) => {
      const { code, detail } = await refusal(resolveTarget(host, 5432, relaxed));
      expect([code, detail]).toEqual(['database_unreachable', expect.stringContaining('path')]);
      expect(detail.includes('contains a slash')).toBe(host.includes('/'));
    },
  );

  test('a name that does not resolve says so', async () => {
    for (const resolve of [undefined, resolvesTo()]) {
      const error = await refusal(resolveTarget('nowhere.invalid', 5432, relaxed, undefined, resolve));
      expect(error).toMatchObject({ code: 'database_unreachable', reason: 'dns_failed' });
    }
  });

  test('public addresses are answered, IPv4 first, with the name they were resolved from', async () => {
    const target = await resolveTarget('db.example', 5432, strict, undefined, resolvesTo('2606:4700:4700::1111', '8.8.8.8'));
    expect(target).toMatchObject({ host: 'db.example', port: 5432, address: '8.8.8.8', family: 4, private: false });
    expect(target.addresses).toHaveLength(2);
  });

  test('our own port is refused under every name and address of this machine', async () => {
    const policy: DialPolicy = { ...relaxed, forbidden: [{ host: 'localhost', port: 6379 }] };
    const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const routable = own.filter(({ address }) => !address.startsWith('fe80')).map(({ address }) => address);
    for (const host of ['127.0.0.1', '127.9.9.9', '0.0.0.0', '::ffff:127.0.0.1', '::1', '::', '2002:7f00:1::', ...routable]) {
      const error = await refusal(
        resolveTarget('db.example', 6379, policy, undefined, async (name) => {
          return name === 'localhost' ? [{ address: '127.0.0.1', family: 4 }] : [{ address: host, family: 4 }];
        }),
      );
      expect(error.detail).toContain('this installation');
    }
    expect(await resolveTarget('127.0.0.1', 6380, policy)).toMatchObject({ private: true });
  });

  test('of our own database server only our own database is refused', async () => {
    const policy: DialPolicy = { ...relaxed, forbidden: [{ host: '127.0.0.1', port: 5432, database: 'sluice' }] };
    expect((await refusal(resolveTarget('127.0.0.1', 5432, policy, 'sluice'))).code).toBe('private_network_blocked');
    expect((await refusal(resolveTarget('127.0.0.1', 5432, policy))).code).toBe('private_network_blocked');
    expect(await resolveTarget('127.0.0.1', 5432, policy, 'shop')).toMatchObject({ address: '127.0.0.1' });
  });
});

describe('dialling', () => {
  test('a closed port is refused, with what to check', async () => {
    const port = await closedPort();
    const error = await refusal(dialSocket(await resolveTarget('127.0.0.1', port, relaxed)));
    expect(error).toMatchObject({ code: 'database_unreachable', reason: 'refused' });
    expect(error.detail).toContain(`port ${port}`);
  });

  test('the name is not resolved a second time, so it cannot change its mind', async () => {
    const server = net.createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    let asked = 0;
    const resolve: Resolve = async () => [{ address: asked++ === 0 ? '127.0.0.1' : '169.254.169.254', family: 4 }];
    const target = await resolveTarget('rebinding.example', portOf(server), relaxed, undefined, resolve);
    const socket = await dialSocket(target);
    expect(socket.remoteAddress).toBe('127.0.0.1');
    expect(asked).toBe(1);
    socket.destroy();
    server.close();
  });

  test('the next address is tried when the first refuses', async () => {
    const server = net.createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const target = await resolveTarget('two.example', portOf(server), relaxed, undefined, resolvesTo('127.0.0.2', '127.0.0.1'));
    const socket = await dialSocket(target);
    expect(socket.remoteAddress).toBe('127.0.0.1');
    socket.destroy();
    server.close();
  });

  test('a dial ends with the reason of its caller', async () => {
    const reason = new AppError('cancelled', 'The caller disconnected.');
    const target = await resolveTarget('127.0.0.1', await closedPort(), relaxed);
    expect(await refusal(dialSocket(target, AbortSignal.abort(reason)))).toBe(reason);
  });
});

describe('a guarded fetch', () => {
  const name = 'service.example.test';
  const servers: Bun.Server<undefined>[] = [];
  const local = resolvesTo('127.0.0.1');
  let authority: Authority;
  let requests = 0;

  beforeAll(async () => {
    authority = await createAuthority('guarded fetch');
  });
  afterAll(async () => {
    for (const server of servers) await server.stop(true);
    await authority.remove();
  });

  async function serve(...names: string[]): Promise<number> {
    const tls = names.length > 0 ? { tls: await authority.issue(...names) } : {};
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      ...tls,
      fetch(request) {
        requests++;
        const { pathname } = new URL(request.url);
        return pathname === '/redirect'
          ? Response.redirect('http://169.254.169.254/latest/meta-data/')
          : Response.json({ host: request.headers.get('host'), pathname, method: request.method });
      },
    });
    servers.push(server);
    return server.port!;
  }

  test('dials the checked address, verifies the certificate against the name and sends the name', async () => {
    const port = await serve(`DNS:${name}`);
    const init = { method: 'POST', body: '{}', tls: { ca: authority.ca } };
    const response = await guardedFetch(`https://${name}:${port}/v2/pipeline?a=1`, init, relaxed, local);
    expect(await response.json()).toEqual({ host: `${name}:${port}`, pathname: '/v2/pipeline', method: 'POST' });
  });

  test('refuses a certificate of another name, of the bare address and of an unknown authority', async () => {
    const before = requests;
    for (const names of ['DNS:other.example.test', 'IP:127.0.0.1']) {
      const port = await serve(names);
      const error = await refusal(guardedFetch(`https://${name}:${port}/`, { tls: { ca: authority.ca } }, relaxed, local));
      expect(error).toMatchObject({ code: 'database_unreachable', reason: 'tls_failed' });
    }
    const port = await serve(`DNS:${name}`);
    const error = await refusal(guardedFetch(`https://${name}:${port}/`, {}, relaxed, local));
    expect(error.reason).toBe('tls_failed');
    expect(await refusal(guardedFetch('file:///etc/passwd', {}, relaxed))).toMatchObject({
      code: 'database_unreachable',
      detail: 'Only http:// and https:// addresses are allowed.',
    });
    expect(requests).toBe(before);
  });

  test('a kept connection is not reused for another name at the same address', async () => {
    const port = await serve(`DNS:${name}`);
    const init = { tls: { ca: authority.ca } };
    await (await guardedFetch(`https://${name}:${port}/`, init, relaxed, local)).text();
    const error = await refusal(guardedFetch(`https://other.example.test:${port}/`, init, relaxed, local));
    expect(error.reason).toBe('tls_failed');
  });

  test('follows no redirect', async () => {
    const port = await serve();
    const response = await guardedFetch(`http://${name}:${port}/redirect`, {}, relaxed, local);
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toContain('169.254.169.254');
  });

  test('refuses private addresses, other schemes and our own ports before a byte is sent', async () => {
    const port = await serve();
    const before = requests;
    const policy: DialPolicy = { ...relaxed, forbidden: [{ host: '127.0.0.1', port }] };
    const refused = [
      guardedFetch(`http://${name}:${port}/`, {}, strict, local),
      guardedFetch(`http://${name}:${port}/`, {}, policy, local),
      guardedFetch('http://169.254.169.254/', {}, relaxed),
    ];
    for (const work of refused) expect((await refusal(work)).code).toBe('private_network_blocked');
    expect(requests).toBe(before);
  });
});

function portOf(server: net.Server): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

async function closedPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
