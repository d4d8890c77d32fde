import { beforeAll, describe, expect, test } from 'bun:test';
import ipaddr from 'ipaddr.js';
import { ANONYMOUS, createCaller, holderOf } from '#mcp-host/auth/caller.ts';
import { createRateLimits, type RateSettings, type RateSubject } from '#mcp-host/limits/rate-limit.ts';
import {
  connectionOf,
  controlServer,
  modern,
  promptOf,
  resourceOf,
  snapshotOf,
  sqliteFolder,
  testHost,
  TOKEN,
  toolOf,
} from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const TOOL = { id: 'tool-1', name: 'one' };
const OTHER = { id: 'tool-2', name: 'two' };
const somebody = () => 'somebody';

/** Limits of one host with a clock that only the test moves. */
function limitsOf(settings: Partial<RateSettings>) {
  let now = 0;
  const limits = createRateLimits({ tool_per_minute: 0, caller_per_minute: 0, ...settings, clock: () => now });
  const refusal = (
    subject: RateSubject = TOOL,
    caller = somebody,
  ): { code?: string; detail?: string; retry_after?: number } | null => {
    try {
      expect(limits.take(subject, caller)).toBeUndefined();
      return null;
    } catch (error) {
      return error as object;
    }
  };
  return { limits, refusal, pass: (ms: number) => void (now += ms) };
}

describe('a limit', () => {
  test.each([1, 2, 20, 1_000])(
    'of %d a minute lets so many through, refuses the next, and opens with the next minute',
    (limit) => {
      const { refusal, pass } = limitsOf({ tool_per_minute: limit });
      const attempts = (count: number) => Array.from({ length: count }, () => refusal()).filter((error) => error === null).length;
      expect(attempts(limit - 1)).toBe(limit - 1);
      expect(refusal()).toBeNull();
      expect(refusal()).toMatchObject({ code: 'rate_limited', retry_after: 60 });
      pass(59_999);
      expect(refusal()).toMatchObject({ code: 'rate_limited', retry_after: 1 });
      pass(1);
      expect(attempts(limit + 5)).toBe(limit);
    },
  );

  test.each([1, 20, 1_000])('of %d that a tool has for itself counts instead of the general one', (limit) => {
    for (const tool_per_minute of [0, 5, 100_000]) {
      const { refusal, pass } = limitsOf({ tool_per_minute });
      const own = { ...TOOL, rate_limit_per_minute: limit };
      for (let n = 0; n < limit; n++) expect(refusal(own)).toBeNull();
      expect(refusal(own)?.detail).toContain(`one has a rate limit of ${limit} call`);
      expect(refusal(OTHER)).toBeNull();
      pass(60_000);
      expect(refusal(own)).toBeNull();
    }
  });

  test('that a deploy changes counts at once, with what was used already', () => {
    const { refusal } = limitsOf({ tool_per_minute: 2 });
    expect([refusal(), refusal(), refusal()?.code]).toEqual([null, null, 'rate_limited']);
    const own = { ...TOOL, rate_limit_per_minute: 3 };
    expect([refusal(own), refusal(own)?.code]).toEqual([null, 'rate_limited']);
    expect(refusal({ ...TOOL, rate_limit_per_minute: 1 })?.code).toBe('rate_limited');
  });

  test('says what it is, and when to try again', () => {
    const { refusal, pass } = limitsOf({ tool_per_minute: 1, caller_per_minute: 3 });
    refusal();
    pass(17_500);
    expect(refusal()?.detail).toBe(
      'one has a rate limit of 1 call per minute for all callers together, which is used up. Try again in 43 seconds.',
    );
    refusal();
    expect(refusal()?.detail).toBe(
      'Each caller has a rate limit of 3 calls per minute, which is used up. Try again in 43 seconds.',
    );
  });

  test('of a tool is its own, over all callers; of a caller is its own, over all tools', () => {
    const by_tool = limitsOf({ tool_per_minute: 1 });
    expect(by_tool.refusal(TOOL, () => 'a')).toBeNull();
    expect(by_tool.refusal(TOOL, () => 'b')).not.toBeNull();
    expect(by_tool.refusal(OTHER, () => 'b')).toBeNull();
    const by_caller = limitsOf({ caller_per_minute: 1 });
    expect(by_caller.refusal(TOOL, () => 'a')).toBeNull();
    expect(by_caller.refusal(OTHER, () => 'a')).not.toBeNull();
    expect(by_caller.refusal(OTHER, () => 'b')).toBeNull();
  });

  test('of a caller is taken first: a flood of one caller uses up nothing of a tool', () => {
    const { limits, refusal } = limitsOf({ tool_per_minute: 3, caller_per_minute: 2 });
    const attempts = (caller: string) =>
      Array.from({ length: 50 }, () => refusal(TOOL, () => caller)).filter((e) => e === null).length;
    expect([attempts('flood'), attempts('other')]).toEqual([2, 1]);
    expect(limits.refused()).toEqual({ caller: 48 + 48, tool: 1 });
  });

  test('is kept for a bounded number of callers', () => {
    const { refusal } = limitsOf({ caller_per_minute: 1 });
    const refused = Array.from({ length: 30_000 }, (_, n) => refusal(TOOL, () => `caller ${n}`)).filter(
      (error) => error !== null,
    );
    expect(refused).toEqual([]);
    expect(refusal(TOOL, () => 'caller 29999')).not.toBeNull();
  });

  test('that is not set costs nothing', () => {
    const { refusal } = limitsOf({});
    expect(Array.from({ length: 1_000 }, () => refusal()).filter((error) => error !== null)).toEqual([]);
  });
});

test('a caller is its credential, or its address, where one machine of IPv6 has a /64', () => {
  const at = (address: string) => holderOf(ANONYMOUS, () => address);
  expect(holderOf(createCaller('token:1', null), () => '192.0.2.1')).toBe('token:1');
  expect(at('192.0.2.1')).not.toBe(at('192.0.2.2'));
  expect(at('::ffff:192.0.2.1')).toBe(at('192.0.2.1'));
  expect(at('2001:db8::1')).toBe(at('2001:db8::ffff:1'));
  expect(at('2001:db8::1')).not.toBe(at('2001:db8:0:1::1'));
});

describe('a host with limits', () => {
  const connection = connectionOf({});
  const snapshot = snapshotOf(1, {
    connections: [connection],
    tools: [
      toolOf(connection, 'one', 'select 1 as one'),
      toolOf(connection, 'two', 'select 2 as two'),
      toolOf(connection, 'own', 'select 4 as four', { rate_limit_per_minute: 1 }),
    ],
    resources: [resourceOf(connection, 'shop://all', 'select 3 as three')],
    prompts: [promptOf('greet', 'Hello')],
  });
  const { control, host } = useHost('all', { rates: { tool_per_minute: 3, caller_per_minute: 5 } });
  beforeAll(() => control.deploy(snapshot));

  const from = (address: string) => ({ 'x-service-token': TOKEN, 'x-client-address': address });
  const call = async (name: string, address: string) =>
    (await modern(host.mcp, 'tools/call', { name }, from(address))).body.result as {
      isError?: boolean;
      content: { text: string }[];
    };

  test('refuses as a result that the model can read, and tells the log of calls', async () => {
    const results = [];
    for (let n = 0; n < 4; n++) results.push(await call('one', '192.0.2.1'));
    expect(results.map(({ isError }) => isError ?? false)).toEqual([false, false, false, true]);
    expect(results[3]?.content[0]?.text).toMatch(/^one has a rate limit of 3 calls per minute.* Try again in \d+ seconds?\.$/);
    const items = await until(() => {
      const all = control.usage.flatMap(({ items }) => items);
      return all.length >= 4 && all;
    });
    expect(items.map(({ error }) => error)).toEqual([null, null, null, 'rate_limited']);
    const text = await (await fetch(new URL('/metrics', host.mcp), { headers: { 'x-service-token': TOKEN } })).text();
    expect(text).toContain('sluice_rate_limited_total{limit="tool"} 1');
  });

  test('counts each address for itself, resources too; a forged address changes nothing', async () => {
    const read = (headers: Record<string, string>) => modern(host.mcp, 'resources/read', { uri: 'shop://all' }, headers);
    expect((await call('two', '192.0.2.1')).isError).toBeUndefined();
    const refused = await read(from('192.0.2.1'));
    expect(refused.body.error?.message).toContain('Each caller has a rate limit of 5 calls per minute');
    expect((await read(from('192.0.2.2'))).status).toBe(200);
    const statuses = [];
    for (let n = 0; n < 7; n++) {
      const { body } = await modern(host.mcp, 'tools/call', { name: 'nothing' }, { 'x-client-address': `192.0.2.${n + 10}` });
      statuses.push(body.error?.code);
    }
    // What names no tool reaches no limit.
    expect(new Set(statuses)).toEqual(new Set([-32_602]));
    const forged = [];
    for (let n = 0; n < 6; n++)
      forged.push((await read({ 'x-client-address': `192.0.2.${n + 10}` })).body.error?.message ?? 'read');
    expect(forged.filter((text) => text === 'read')).toHaveLength(2);
    expect(forged.at(-1)).toContain('minute');
  });

  test('a tool that has a limit of its own keeps to it', async () => {
    const results = [await call('own', '192.0.2.77'), await call('own', '192.0.2.77')];
    expect(results.map(({ isError }) => isError ?? false)).toEqual([false, true]);
    expect(results[1]?.content[0]?.text).toMatch(/^own has a rate limit of 1 call per minute/);
  });

  test('lists are not limited, and prompts count for their caller alone', async () => {
    for (let n = 0; n < 10; n++) expect((await modern(host.mcp, 'tools/list', {}, from('192.0.2.1'))).status).toBe(200);
    const greet = () => modern(host.mcp, 'prompts/get', { name: 'greet' }, from('192.0.2.88'));
    for (let n = 0; n < 5; n++) expect((await greet()).body.error).toBeUndefined();
    expect((await greet()).body.error?.message).toMatch(/^Each caller has a rate limit of 5 calls per minute/);
    await until(() =>
      control.usage.some(({ items }) => items.some(({ name, error }) => name === 'greet' && error === 'rate_limited')),
    );
  });
});

test.each([
  [[], ['read', 'refused']],
  [['127.0.0.0/8'], ['read', 'read', 'refused']],
])('behind a proxy that is trusted (%j) a caller is who the proxy says', async (trusted, expected) => {
  const folder = sqliteFolder();
  const control = controlServer();
  const connection = connectionOf({});
  const trusted_proxies = trusted.map((range) => ipaddr.parseCIDR(range));
  const rates = { tool_per_minute: 0, caller_per_minute: 1 };
  const host = await testHost(folder.directory, control.url, { rates, trusted_proxies });
  try {
    await until(() => control.haves.length > 0);
    await control.deploy(
      snapshotOf(1, { connections: [connection], resources: [resourceOf(connection, 'shop://all', 'select 1 as one')] }),
    );
    const results = [];
    for (const last of [1, 2, 2].slice(0, expected.length)) {
      const headers = { 'x-forwarded-for': `198.51.100.7, 192.0.2.${last}` };
      const { body } = await modern(host.mcp, 'resources/read', { uri: 'shop://all' }, headers);
      results.push(body.error === undefined ? 'read' : 'refused');
    }
    expect(results).toEqual(expected);
  } finally {
    await host.stop();
    await control.stop();
    folder.remove();
  }
});
