import { describe, expect, test } from 'bun:test';
import { createHostCheck, isHostAllowed, isOriginAllowed, isSameOrigin } from '#core/edge/origins.ts';

const allowed = new Set(['mcp.example.com']);

describe('the Host header', () => {
  test.each([
    'localhost',
    'localhost:8080',
    'app.localhost',
    'LOCALHOST:1',
    'localhost:65535',
    '127.0.0.1:8080',
    '10.1.2.3',
    '[::1]:8080',
    'mcp.example.com',
    'MCP.example.com:443',
  ])('%s is served', (host) => {
    expect(isHostAllowed(host, allowed)).toBe(true);
  });

  test.each([
    'evil.example.com',
    'localhost.evil.com',
    'notlocalhost',
    'mcp.example.com.evil.com',
    '127.0.0.1.nip.io',
    '',
    'a b',
    'x@localhost',
    'localhost:65536',
    '127.0.0.1:99999',
    '[::1',
  ])('%p is refused', (host) => {
    expect(isHostAllowed(host, allowed)).toBe(false);
  });
});

describe('the Origin header', () => {
  const cors_origins = ['http://localhost:5173', 'https://ui.example.com'];
  test.each([
    [null, true],
    ['http://localhost:8080', true],
    ['http://localhost:5173', true],
    ['https://ui.example.com', true],
    ['http://localhost:5174', false],
    ['http://ui.example.com', false],
    ['https://ui.example.com.evil.com', false],
    ['null', false],
    ['not a url', false],
  ])('%p gives %p', (origin, expected) => {
    expect(isOriginAllowed(origin, 'localhost:8080', false, cors_origins)).toBe(expected);
  });

  test('over HTTPS a page that came without it is foreign, though its name is the same', () => {
    const same = (origin: string, is_https: boolean) => isSameOrigin(origin, 'shop.example.com', is_https);
    expect(['http://shop.example.com', 'https://shop.example.com'].map((origin) => same(origin, true))).toEqual([false, true]);
    expect(['http://shop.example.com', 'https://shop.example.com'].map((origin) => same(origin, false))).toEqual([true, true]);
    expect(isOriginAllowed('http://shop.example.com', 'shop.example.com', true, [])).toBe(false);
    expect(isOriginAllowed('http://shop.example.com', 'shop.example.com', true, ['http://shop.example.com'])).toBe(true);
  });

  test('a wildcard takes every origin but an opaque one', () => {
    expect(isOriginAllowed('https://any.example', 'h', false, ['*'])).toBe(true);
    expect(isOriginAllowed('null', 'h', false, ['*'])).toBe(false);
  });
});

test('a remembered answer about a Host ends when the names change, and many Hosts are not kept', () => {
  let names: ReadonlySet<string> = new Set(['one.example']);
  const isServed = createHostCheck(() => names);
  const answers = () => ['one.example', 'two.example', 'localhost:8080'].map((host) => isServed(host));
  expect([answers(), answers()]).toEqual([
    [true, false, true],
    [true, false, true],
  ]);
  names = new Set(['two.example']);
  expect([answers(), answers()]).toEqual([
    [false, true, true],
    [false, true, true],
  ]);
  for (let n = 0; n < 1_000; n++) expect(isServed(`${n}.example`)).toBe(false);
  expect(answers()).toEqual([false, true, true]);
});
