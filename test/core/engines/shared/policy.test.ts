import { expect, test } from 'bun:test';
import { parseEnv } from '#core/process/env.ts';
import { dialPolicy } from '#core/engines/shared/policy.ts';

const SECRET = 'k'.repeat(16) + '0123456789abcdefg';
const forbidden = (variables: Record<string, string>) => {
  const base = { SVC_ENV: 'dev', SVC_ENCRYPTION_KEY: SECRET, SVC_JWT_SECRET: SECRET, SVC_AGENT_SERVICE_TOKEN: SECRET };
  return dialPolicy(parseEnv('server', { ...base, ...variables }).env).forbidden;
};

test('our own Redis is no target, however it is named', () => {
  expect(forbidden({ REDIS_PASSWORD: 'p/:@' })).toContainEqual({ host: 'redis', port: 6379 });
  expect(forbidden({ REDIS_URL: 'redis://a:6380/2' })).toContainEqual({ host: 'a', port: 6380 });
  const both = forbidden({ SVC_REDIS_URL: 'rediss://b', REDIS_URL: 'redis://a:6380' });
  expect(both).toContainEqual({ host: 'b', port: 6379 });
  expect(both).toContainEqual({ host: 'a', port: 6380 });
  expect(forbidden({ SVC_KV: 'memory' }).filter(({ port }) => port === 6379)).toEqual([]);
});

test('our own metadata database is no target, with a URL that names it or not', () => {
  const of = (SVC_DATABASE_URL: string) => forbidden({ SVC_KV: 'memory', SVC_DATABASE_URL });
  expect(of('postgres://sluice@db/meta')).toContainEqual({ host: 'db', port: 5432, database: 'meta' });
  expect(of('postgres://slu%69ce:x@db:5433')).toContainEqual({ host: 'db', port: 5433, database: 'sluice' });
  expect(of('postgres://sluice@db/')).toContainEqual({ host: 'db', port: 5432, database: 'sluice' });
  expect(of('postgres://db')).toContainEqual({ host: 'db', port: 5432 });
});

test('what our programs listen on is no target, on this machine and where they find each other', () => {
  const targets = forbidden({
    SVC_PORT: '3000',
    SVC_SSL_PORT: '443',
    SVC_FASTMCP_HOST: 'mcp',
    SVC_FASTMCP_PORT: '8080',
    SVC_SERVER_URL: 'http://server:3000',
    SVC_AGENT_MCP_URL: 'https://agent',
  });
  for (const [host, port] of [
    ['localhost', 3000],
    ['localhost', 443],
    ['localhost', 80],
    ['localhost', 8080],
    ['mcp', 8080],
    ['server', 3000],
    ['agent', 443],
  ] as const) {
    expect(targets).toContainEqual({ host, port });
  }
  expect(forbidden({ SVC_PORT: '0', SVC_SSL_PORT: '0' }).filter(({ port }) => port === 0 || port === 80)).toEqual([]);
});
