import { expect, test } from 'bun:test';
import ipaddr from 'ipaddr.js';
import type { Network } from '#core/process/env/settings.ts';
import { clientAddress, forwardedScheme } from '#core/edge/client-address.ts';

const trusted: readonly Network[] = [ipaddr.parseCIDR('10.0.0.0/8'), ipaddr.parseCIDR('fd00::/8')];

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['203.0.113.9:5555', '203.0.113.9'],
  ['[2001:db8::1]:99', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['203.0.113.9:5555, 10.0.0.2:443', '203.0.113.9'],
  ['203.0.113.9, [fd00::2]:443', '203.0.113.9'],
  ['198.51.100.1, 203.0.113.9:1', '203.0.113.9'],
  // What is no address is not believed.
  ['203.0.113.9:x', '10.0.0.1'],
  ['203.0.113.9:123456', '10.0.0.1'],
  ['[203.0.113.9', '10.0.0.1'],
  ['unknown', '10.0.0.1'],
  ['', '10.0.0.1'],
])('a trusted proxy that says %p means %p', (forwarded_for, address) => {
  expect(clientAddress('10.0.0.1', forwarded_for, trusted)).toBe(address);
  expect(clientAddress('192.0.2.1', forwarded_for, trusted)).toBe('192.0.2.1');
});

test('only a trusted proxy says what the caller speaks', () => {
  expect(forwardedScheme('10.0.0.1', 'HTTPS, http', trusted)).toBe('https');
  expect(forwardedScheme('192.0.2.1', 'https', trusted)).toBeNull();
  expect(forwardedScheme('10.0.0.1', null, trusted)).toBeNull();
});
