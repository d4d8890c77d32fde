import { expect, test } from 'bun:test';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvError, parseEnv } from '#core/process/env.ts';

const good = {
  SVC_ENCRYPTION_KEY: '0f9a7c3b5d1e8246a0c4e6f8b2d47591',
  SVC_JWT_SECRET: '1f9a7c3b5d1e8246a0c4e6f8b2d47591',
  SVC_AGENT_SERVICE_TOKEN: '2f9a7c3b5d1e8246a0c4e6f8b2d47591',
  REDIS_PASSWORD: '3f9a7c3b5d1e8246a0c4e6f8b2d47591',
};

function faultsOf(source: Record<string, string>): readonly string[] {
  try {
    parseEnv('server', source);
    return [];
  } catch (error) {
    if (error instanceof EnvError) return error.faults;
    throw error;
  }
}

test('production with everything required starts', () => {
  expect(parseEnv('server', good).env.SVC_BIND).toBe('0.0.0.0');
});

test('production requires authentication unless SVC_ALLOW_OPEN says otherwise, development does not', () => {
  const required = (source: Record<string, string>) => parseEnv('server', { ...good, ...source }).env.SVC_REQUIRE_AUTH;
  expect([required({}), required({ SVC_REQUIRE_AUTH: 'false' }), required({ SVC_ALLOW_OPEN: 'true' })]).toEqual([
    true,
    true,
    false,
  ]);
  expect([required({ SVC_ENV: 'dev' }), required({ SVC_ENV: 'dev', SVC_REQUIRE_AUTH: 'true' })]).toEqual([false, true]);
  const faults = faultsOf({ ...good, SVC_REQUIRE_AUTH: 'true', SVC_ALLOW_OPEN: 'true' });
  expect(faults).toEqual(['SVC_REQUIRE_AUTH and SVC_ALLOW_OPEN contradict each other. Keep one.']);
});

test('every fault is named at once', () => {
  const faults = faultsOf({ SVC_PORT: 'many', SVC_LOG_LEVEL: 'loud', SVC_ENV: 'production' });
  for (const name of [
    'SVC_PORT',
    'SVC_LOG_LEVEL',
    'SVC_ENCRYPTION_KEY',
    'SVC_JWT_SECRET',
    'SVC_AGENT_SERVICE_TOKEN',
    'REDIS_PASSWORD',
  ]) {
    expect(faults.some((fault) => fault.startsWith(name))).toBe(true);
  }
});

test('a short secret and a sample value are refused in production', () => {
  expect(faultsOf({ ...good, SVC_JWT_SECRET: 'short' })).toHaveLength(1);
  expect(faultsOf({ ...good, SVC_JWT_SECRET: `change-me-${'x'.repeat(40)}` })).toHaveLength(1);
  for (const name of ['REDIS_PASSWORD', 'SVC_METRICS_TOKEN']) {
    expect([name, faultsOf({ ...good, [name]: 'x' }).length]).toEqual([name, 1]);
    expect([name, faultsOf({ ...good, SVC_ENV: 'dev', [name]: 'x' }).length]).toEqual([name, 0]);
  }
  expect(faultsOf({ ...good, SVC_ENCRYPTION_KEY: `${good.SVC_ENCRYPTION_KEY},short` })).toHaveLength(1);
});

test('a public URL has nothing that is half used', () => {
  const faultOf = (name: string, url: string) => faultsOf({ ...good, [name]: url })[0];
  for (const name of ['SVC_PUBLIC_URL', 'SVC_MCP_PUBLIC_URL']) {
    expect(faultOf(name, 'https://sluice.example.com/')).toBeUndefined();
    for (const rest of ['?a=1', '/#a']) expect(faultOf(name, `https://sluice.example.com${rest}`)).toContain('query');
    expect(faultOf(name, 'https://ada:x@sluice.example.com')).toContain('user');
  }
  expect(faultOf('SVC_PUBLIC_URL', 'https://example.com/sluice')).toContain('must have no path');
  expect(faultOf('SVC_MCP_PUBLIC_URL', 'https://example.com/sluice')).toBeUndefined();
});

test('redis is not required when the memory store is chosen or a URL is given', () => {
  const { REDIS_PASSWORD: _, ...rest } = good;
  expect(faultsOf(rest)).toHaveLength(1);
  expect(faultsOf({ ...rest, SVC_KV: 'memory' })).toEqual([]);
  expect(faultsOf({ ...rest, REDIS_URL: 'redis://127.0.0.1:6379/0' })).toEqual([]);
});

test('a secret may be a file', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'sluice-env-')), 'key');
  writeFileSync(file, `${good.SVC_JWT_SECRET}\n`);
  const { SVC_JWT_SECRET: secret, ...rest } = good;
  expect(parseEnv('server', { ...rest, SVC_JWT_SECRET_FILE: file }).env.SVC_JWT_SECRET).toBe(secret);
  expect(faultsOf({ ...rest, SVC_JWT_SECRET_FILE: `${file}.missing` }).length).toBeGreaterThan(0);
});

test('an unknown variable is a warning with the nearest known name', () => {
  expect(parseEnv('server', { ...good, SVC_PROT: '3000' }).warnings).toEqual([
    'SVC_PROT is not a known variable. Did you mean SVC_PORT?',
  ]);
  expect(parseEnv('server', { ...good, SVC_COLOUR: 'green' }).warnings).toEqual(['SVC_COLOUR is not a known variable.']);
});

test.each(['10.0.0.0/8x', '10.0.0.0/33', '10.8', '0x0a000001', 'proxy.example', '10.0.0.0/', '::1/129', '10.0.0.1 10.0.0.2'])(
  'a trusted proxy written as %s stops the start with a sentence',
  (text) => {
    expect(faultsOf({ ...good, SVC_TRUSTED_PROXIES: `127.0.0.1, ${text}` })).toEqual([
      'SVC_TRUSTED_PROXIES must list addresses or networks such as 10.0.0.0/8, comma-separated.',
    ]);
  },
);

test('trusted proxies are networks, and an address alone is one', () => {
  const { env } = parseEnv('server', { ...good, SVC_TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.1,::1, fd00::/8' });
  expect(env.SVC_TRUSTED_PROXIES.map(([range, bits]) => `${range.toString()}/${bits}`)).toEqual([
    '10.0.0.0/8',
    '192.0.2.1/32',
    '::1/128',
    'fd00::/8',
  ]);
  expect(parseEnv('server', good).env.SVC_TRUSTED_PROXIES).toEqual([]);
});

test('headers for the collector are secrets by name, and a wrong list stops the start without its values', () => {
  const of = (text: string) => parseEnv('host', { ...good, SVC_OTLP_HEADERS: text }).env.SVC_OTLP_HEADERS;
  expect(of('authorization=Bearer%20a%2Cb==, x-team = data')).toEqual({ authorization: 'Bearer a,b==', 'x-team': 'data' });
  expect(parseEnv('host', good).env.SVC_OTLP_HEADERS).toBeNull();
  for (const text of ['hunter2', 'a b=hunter2', 'x-key=hunter2%', 'x-key=hunter2%0A', 'x-key=']) {
    const faults = faultsOf({ ...good, SVC_OTLP_HEADERS: text });
    expect(faults).toEqual([expect.stringContaining('SVC_OTLP_HEADERS must list headers as name=value')]);
    expect(faults.join()).not.toContain('hunter2');
  }
});
