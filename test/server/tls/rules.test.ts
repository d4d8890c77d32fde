import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import net from 'node:net';
import tls from 'node:tls';
import {
  openCertificateKey,
  readAccount,
  readCertificate,
  sealCertificateKey,
  writeAccount,
  writeCertificate,
} from '#core/server-config/certificates.ts';
import { keysReport } from '#core/versions/keys.ts';
import { rewrapSecrets } from '#core/versions/rewrap.ts';
import { createHttp } from '#server/http/http.ts';
import { listen } from '#server/http/listen.ts';
import { openTerminator } from '#server/tls/terminator.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { createAuthority } from '#test/support/certificates.ts';
import { freePort } from '#test/support/free-port.ts';
import { listeningServer } from '#test/support/server.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { httpsClient } from './client.ts';
import { until } from '#test/support/until.ts';

const DOMAIN = 'ui.example.com';
const https = { serving: () => ({ domains: [DOMAIN] }) };
const TLS = { ssl_enabled: true, auto_renew: false, ui_domain: DOMAIN, acme_email: 'ada@example.com' };

describe('with a certificate the front port', () => {
  let t: TestApp;
  beforeAll(async () => {
    t = await testApp({ SVC_TRUSTED_PROXIES: '192.0.2.0/24', SVC_EXTERNAL_HTTPS_PORT: '8443' });
    await t.signIn();
    await t.call('config.update', { ui_domain: DOMAIN });
  });
  afterAll(() => t.close());
  const ask = (path: string, headers: Record<string, string> = {}, bindings: object = {}) =>
    createHttp(t.app, https).fetch(new Request(`http://x${path}`, { headers: { host: DOMAIN, ...headers } }), {
      address: '192.0.2.1',
      ...bindings,
    });

  test('sends to HTTPS on the port that people see', async () => {
    const sent = await ask('/a?b=c');
    expect([sent.status, sent.headers.get('location')]).toEqual([308, 'https://ui.example.com:8443/a?b=c']);
  });

  test('sends who asks for metrics with a token, and answers probes and who asks by address', async () => {
    const moved = await ask('/metrics', { authorization: 'Bearer any' });
    expect([moved.status, moved.headers.get('location')]).toEqual([308, 'https://ui.example.com:8443/metrics']);
    expect((await ask('/metrics', { host: '192.0.2.7:3000' })).status).toBe(401);
    for (const path of ['/livez', '/readyz', '/api/health']) expect([path, (await ask(path)).status]).toEqual([path, 200]);
  });

  test('sends to no other name, whatever the request line says', async () => {
    const server = listen({ app: t.app, http: createHttp(t.app, https), hostname: '127.0.0.1', port: 0, idle_seconds: 30 });
    const sentTo = (line: string) =>
      new Promise<string | undefined>((resolve, reject) => {
        const socket = net.connect(server.port, '127.0.0.1', () => {
          socket.write(`${line} HTTP/1.1\r\nHost: ${DOMAIN}\r\nConnection: close\r\n\r\n`);
        });
        let heard = '';
        socket.on('data', (bytes) => (heard += bytes.toString('latin1')));
        socket.on('error', reject);
        socket.on('close', () => resolve(/^location: (.*)$/im.exec(heard)?.[1]));
      });
    const lines = [
      'GET http://other.example.net/a',
      'GET //other.example.net/a',
      'CONNECT x:.other.example.net/a',
      'CONNECT other.example.net:443',
    ];
    for (const line of lines) {
      const location = (await sentTo(line)) ?? '';
      expect({ line, host: URL.canParse(location) ? new URL(location).host : location }).toEqual({
        line,
        host: `${DOMAIN}:8443`,
      });
    }
    await server.stop();
  });

  test('sends nobody who came over HTTPS to a trusted proxy', async () => {
    expect((await ask('/api/v1/auth/status', { 'x-forwarded-proto': 'https' })).status).toBe(200);
    expect((await ask('/api/v1/auth/status', { 'x-forwarded-proto': 'http' })).status).toBe(308);
  });

  test('asks browsers to stay only over its own TLS', async () => {
    const hsts = async (headers: Record<string, string>, bindings: object) =>
      (await ask('/api/v1/auth/status', headers, bindings)).headers.get('strict-transport-security');
    expect(await hsts({}, { secure: true })).toBe('max-age=31536000');
    expect(await hsts({ 'x-forwarded-proto': 'https' }, {})).toBeNull();
    expect(await hsts({ host: 'localhost' }, { secure: true })).toBeNull();
  });
});

test('browsers are not kept at a certificate of the staging environment, which they do not trust', async () => {
  const t = await testApp({ SVC_SSL_STAGING: 'true' });
  await t.signIn();
  await t.call('config.update', { ui_domain: DOMAIN });
  const request = new Request('http://x/api/v1/auth/status', { headers: { host: DOMAIN } });
  const answer = await createHttp(t.app, https).fetch(request, { address: '192.0.2.1', secure: true });
  expect([answer.status, answer.headers.get('strict-transport-security')]).toEqual([200, null]);
  await t.close();
});

test('certificates are ordered where the environment says', async () => {
  const { directoryOf } = await import('#core/server-config/certificates.ts');
  const cases = [
    [{}, 'https://acme-v02.api.letsencrypt.org/directory'],
    [{ SVC_SSL_STAGING: 'true' }, 'https://acme-staging-v02.api.letsencrypt.org/directory'],
    [
      { SVC_SSL_STAGING: 'true', SVC_ACME_DIRECTORY_URL: 'https://ca.example.com/acme/directory' },
      'https://ca.example.com/acme/directory',
    ],
  ] as const;
  for (const [variables, directory] of cases) {
    const t = await testApp({ ...variables });
    expect(directoryOf(t.app)).toBe(directory);
    await t.close();
  }
});

test('the keys of certificate and account are sealed, and sealed again when the encryption key is changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-rotation-'));
  const url = `file:${join(folder, 'sluice.sqlite')}`;
  const [old, fresh] = ['old-key-0123456789abcdefghijklmnop', 'new-key-0123456789abcdefghijklmnop'];
  const directory = 'https://ca.example.com/directory';
  const first = await testApp({ SVC_ENCRYPTION_KEY: old }, url);
  await writeCertificate(first.app, {
    chain: 'public',
    private_key: sealCertificateKey(first.app, 'the key of the certificate'),
  });
  await writeAccount(first.app, directory, { key: 'the key of the account', url: null });
  await first.close();
  const both = await testApp({ SVC_ENCRYPTION_KEY: `${fresh},${old}` }, url);
  expect(await rewrapSecrets(both.app)).toMatchObject({ entities: 2 });
  expect((await keysReport(both.app)).find(({ current }) => !current)?.removable).toBe(true);
  await both.close();
  const last = await testApp({ SVC_ENCRYPTION_KEY: fresh }, url);
  expect(openCertificateKey(last.app, await readCertificate(last.app))).toBe('the key of the certificate');
  expect(await readAccount(last.app, directory)).toEqual({ key: 'the key of the account', url: null });
  await last.close();
  expect(await Bun.file(join(folder, 'sluice.sqlite')).text()).not.toContain('the key of');
  rmSync(folder, { recursive: true, force: true });
});

/** A stored certificate, as another server of the installation would have ordered it. */
async function storeCertificate(s: Awaited<ReturnType<typeof listeningServer>>) {
  const authority = await createAuthority('rules');
  const { cert, key } = await authority.issue(`DNS:${DOMAIN}`);
  const { app } = s.server;
  await writeCertificate(app, {
    directory: 'https://ca.example.com/directory',
    domains: [DOMAIN],
    chain: cert,
    private_key: sealCertificateKey(app, key),
    valid_from: new Date(Date.now() - 60_000).toISOString(),
    valid_until: new Date(Date.now() + 86_400_000).toISOString(),
  });
  await s.signIn();
  await s.call('config.update', TLS);
  return authority;
}

test('who speaks no TLS, or says nothing, is let go; nobody passes by to what is behind', async () => {
  const t = await testApp();
  const authority = await createAuthority('strangers');
  const { cert, key } = await authority.issue(`DNS:${DOMAIN}`);
  const tunnels = new Map<number, string>();
  const inner = listen({ app: t.app, http: createHttp(t.app), hostname: '127.0.0.1', port: 0, idle_seconds: 30, tunnels });
  const options = { hostname: '127.0.0.1', port: 0, target: inner.port, tunnels, handshake_ms: 1_000 };
  const terminator = await openTerminator({ chain: cert, key, min_tls_version: '1.2' }, options);
  const said = (text: string) =>
    new Promise<string>((resolve) => {
      const socket = net.connect(terminator.port, '127.0.0.1', () => void (text !== '' && socket.write(text)));
      let heard = '';
      socket.on('data', (bytes) => (heard += bytes.toString('latin1')));
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(heard));
    });
  const heard = await Promise.all([said(''), said('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'), said('\u0016\u0003\u0001')]);
  for (const text of heard) expect(text).not.toContain('HTTP/');
  expect((await fetch(`http://127.0.0.1:${inner.port}/api/health`)).status).toBe(421);
  const client = httpsClient(
    () => terminator.port,
    () => authority.ca,
  );
  expect((await client.ask(DOMAIN, '/api/health', { headers: { host: 'localhost' } })).status).toBe(200);
  expect(tunnels.size).toBeLessThanOrEqual(1);
  await inner.stop();
  await terminator.close(Promise.resolve());
  expect(tunnels.size).toBe(0);
  await t.close();
  await authority.remove();
}, 60_000);

test('a port of HTTPS that is taken is told, and had as soon as it is free', async () => {
  const port = freePort();
  const taken = net.createServer();
  await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve));
  const s = await listeningServer(undefined, { SVC_SSL_PORT: String(port) });
  const authority = await storeCertificate(s);
  await until(() =>
    s.lines.some(({ message }) => message.includes(`HTTPS cannot listen on port ${port}: another program uses it`)),
  );
  expect((await fetch(`${s.url}/api/v1/auth/status`, { headers: { host: DOMAIN } })).status).toBe(200);
  await new Promise((resolve) => taken.close(resolve));
  await until(() => s.server.httpsPort() === port);
  const client = httpsClient(s.server.httpsPort, () => authority.ca);
  expect((await client.ask(DOMAIN, '/api/health')).status).toBe(200);
  expect(s.lines.filter(({ message }) => message.includes('HTTPS cannot listen'))).toHaveLength(1);
  await s.stop();
  await authority.remove();
}, 60_000);

test('min_tls_version refuses older versions from the next handshake on, by name and by address', async () => {
  const s = await listeningServer(undefined, { SVC_SSL_PORT: String(freePort()) });
  const authority = await storeCertificate(s);
  await until(() => s.server.httpsPort() !== null);
  await s.signIn();
  /** The version that a client which speaks nothing newer than TLS 1.2 gets; null: it is refused. */
  const older = (name: string | null) =>
    new Promise<string | null>((resolve) => {
      const where = {
        host: '127.0.0.1',
        port: s.server.httpsPort() ?? 0,
        maxVersion: 'TLSv1.2' as const,
        rejectUnauthorized: false,
      };
      const socket = tls.connect({ ...where, ...(name === null ? {} : { servername: name }) }, () => {
        resolve(socket.getProtocol());
        socket.destroy();
      });
      socket.on('error', () => resolve(null));
    });
  expect([await older(DOMAIN), await older(null)]).toEqual(['TLSv1.2', 'TLSv1.2']);
  await s.call('config.update', { min_tls_version: '1.3' });
  await until(async () => (await older(DOMAIN)) === null);
  expect(await older(null)).toBeNull();
  const client = httpsClient(s.server.httpsPort, () => authority.ca);
  expect((await client.shown(DOMAIN)).protocol).toBe('TLSv1.3');
  await s.call('config.update', { min_tls_version: '1.2' });
  await until(async () => (await older(DOMAIN)) === 'TLSv1.2');
  await s.stop();
  await authority.remove();
}, 60_000);

test('with the usual port of HTTPS also port 80 is had, or what to do instead is told', async () => {
  // An address of this machine that nobody else uses.
  const bind = '127.80.44.3';
  const s = await listeningServer(undefined, { SVC_SSL_PORT: '443', SVC_BIND: bind });
  const authority = await storeCertificate(s);
  const redirected = async () =>
    (await fetch(`http://${bind}/x`, { redirect: 'manual', headers: { host: DOMAIN } })).headers.get('location') ===
    `https://${DOMAIN}/x`;
  const told = (text: string) => s.lines.some(({ message }) => message.includes(text));
  await until(async () => (told('Forward port 80 to port') && told('HTTPS cannot listen on port 443')) || (await redirected()));
  if (!told('Forward port 80 to port')) {
    // Who turns it off over this very port hears the answer.
    const headers = { cookie: await s.signIn(), 'content-type': 'application/json' };
    const body = JSON.stringify({ ssl_enabled: false });
    const answer = await fetch(`http://${bind}/api/v1/server/config`, { method: 'PATCH', headers, body });
    expect([answer.status, await answer.json()]).toMatchObject([200, { ssl_enabled: false }]);
    const listens = () => fetch(`http://${bind}/livez`).then(Boolean, () => false);
    await until(async () => !(await listens()));
  }
  await s.stop();
  await authority.remove();
}, 60_000);
