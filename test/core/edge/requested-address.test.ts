import { expect, test } from 'bun:test';
import { requestedHost, requestedOrigin, createAddresses, isSameAudience } from '#core/edge/requested-address.ts';
import { originRefusal } from '#core/edge/origins.ts';
import { parseEnv } from '#core/process/env.ts';

const PROXY = '127.0.0.1';
const trusted = parseEnv('agent', {
  SVC_ENV: 'dev',
  SVC_AGENT_SERVICE_TOKEN: 't'.repeat(40),
  SVC_TRUSTED_PROXIES: '127.0.0.0/8',
}).env.SVC_TRUSTED_PROXIES;
const addresses = createAddresses({
  path: '/mcp',
  public_urls: ['https://ui.example.com', 'https://mcp.example.com', 'https://mcp.example.com:8443/sluice'],
  names: () => new Set(['shop.example.org']),
  installation_ports: () => new Set([8080]),
  otherwise: () => 'https://mcp.example.com',
});

test.each([
  // As Apache sends it by default, and as what goes before it adds to it.
  [
    { host: '127.0.0.1:8080', 'x-forwarded-host': 'mcp.example.com', 'x-forwarded-proto': 'https' },
    'https://mcp.example.com/mcp',
  ],
  [
    { host: '127.0.0.1:8080', 'x-forwarded-host': 'ui.example.com, 10.0.0.7', 'x-forwarded-proto': 'HTTPS, http' },
    'https://ui.example.com/mcp',
  ],
  [{ host: 'localhost:8080', 'x-forwarded-host': 'shop.example.org', 'x-forwarded-port': '80' }, 'http://shop.example.org/mcp'],
  [
    {
      host: '127.0.0.1:8080',
      'x-forwarded-host': 'mcp.example.com',
      'x-forwarded-proto': 'https',
      'x-forwarded-port': '8443',
      'x-forwarded-prefix': '/sluice/',
    },
    'https://mcp.example.com:8443/sluice/mcp',
  ],
  // The name is kept, so the port that the proxy listens at says nothing.
  [
    { host: 'ui.example.com', 'x-forwarded-host': 'ui.example.com', 'x-forwarded-port': '8000', 'x-forwarded-proto': 'https' },
    'https://ui.example.com/mcp',
  ],
  // A proxy that says no name, and one that says another's.
  [{ host: '127.0.0.1:8080', 'x-forwarded-for': '192.0.2.1' }, 'https://mcp.example.com/mcp'],
  [{ host: '127.0.0.1:8080', 'x-forwarded-host': 'evil.example' }, 'https://mcp.example.com/mcp'],
  [{ host: '127.0.0.1:8080', 'x-forwarded-host': 'a b' }, 'http://127.0.0.1:8080/mcp'],
  // No proxy handed it on.
  [{ host: '127.0.0.1:8080' }, 'http://127.0.0.1:8080/mcp'],
] as const)('behind a trusted proxy %j asks for %s', (headers, resource) => {
  expect(addresses.at(requestedOrigin(new Headers(headers), false, PROXY, trusted))).toBe(resource);
});

test('nobody else says what was asked for', () => {
  const headers = new Headers({ host: '127.0.0.1:8080', 'x-forwarded-host': 'mcp.example.com', 'x-forwarded-proto': 'https' });
  for (const address of [null, '192.0.2.1']) {
    expect(requestedHost(headers, address, trusted)).toBe('127.0.0.1:8080');
    expect(requestedOrigin(headers, false, address, trusted)).toBe('http://127.0.0.1:8080');
  }
});

test('a refused page is told what helps: a proxy that keeps its name, or the setting', () => {
  const isOurs = (name: string) => name === 'ui.example.com';
  expect(originRefusal('https://ui.example.com', isOurs)).toContain('ProxyPreserveHost');
  expect(originRefusal('https://other.example', isOurs)).toContain('cors_origins');
  expect(originRefusal('null', isOurs)).not.toContain('cors_origins');
});

test('an address with a slash at its end is the same audience, and nothing else is', () => {
  expect(isSameAudience('https://mcp.example.com/mcp/', 'https://mcp.example.com/mcp')).toBe(true);
  expect(isSameAudience('https://mcp.example.com/mcp', 'https://mcp.example.com/mcp/')).toBe(true);
  expect(isSameAudience('https://mcp.example.com/mcp/x', 'https://mcp.example.com/mcp')).toBe(false);
  expect(isSameAudience('api://shop/', 'api://shop')).toBe(false);
  expect(isSameAudience(undefined, 'https://mcp.example.com/mcp')).toBe(false);
});
