import { expect, test } from 'bun:test';
import type { CanarySide } from '#core/contract/observe/canary-state.ts';
import { limitPassed } from '#core/deploy/candidates/stored-canaries.ts';

const LIMITS = { max_error_rate: 0.05, max_p95_ratio: 1.5, min_calls: 20 };
const side = (calls: number, p95_ms: number, error_rate = 0): CanarySide => ({
  calls,
  errors: Math.round(calls * error_rate),
  error_rate,
  p95_ms,
});

test('a canary passes the limit of latency when its p95 is too many times that of the live version', () => {
  expect(limitPassed(LIMITS, { live: side(20, 40), canary: side(20, 60) })).toBeNull();
  expect(limitPassed(LIMITS, { live: side(20, 40), canary: side(20, 61) })).toBe(
    'Limit passed: the p95 is 61 ms, 1.53 times the 40 ms of the live version; the limit is 1.5 times.',
  );
  expect(limitPassed(LIMITS, { live: side(20, 61), canary: side(20, 40) })).toBeNull();
  expect(limitPassed({ ...LIMITS, max_p95_ratio: null }, { live: side(20, 40), canary: side(20, 900) })).toBeNull();
});

test('latency is compared when both sides had enough calls, and the live one a duration', () => {
  expect(limitPassed(LIMITS, { live: side(19, 40), canary: side(20, 900) })).toBeNull();
  expect(limitPassed(LIMITS, { live: side(20, 40), canary: side(19, 900) })).toBeNull();
  expect(limitPassed(LIMITS, { live: side(20, 0), canary: side(20, 900) })).toBeNull();
});

test('errors count without calls of the live version, from more than the limit on', () => {
  expect(limitPassed(LIMITS, { live: side(0, 0), canary: side(20, 1, 0.05) })).toBeNull();
  expect(limitPassed(LIMITS, { live: side(0, 0), canary: side(20, 1, 0.1) })).toBe(
    'Limit passed: 10% of 20 calls failed; the limit is 5%.',
  );
  expect(limitPassed(LIMITS, { live: side(0, 0), canary: side(19, 1, 1) })).toBeNull();
});
