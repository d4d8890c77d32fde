import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { openRedisLimits } from '#core/cluster/redis-limits.ts';
import { createOneUse } from '#mcp-host/call/confirmation/one-use.ts';
import { createSealedState } from '#mcp-host/call/confirmation/pending-call.ts';
import type { HostOptions } from '#mcp-host/host-options.ts';
import { reachable, redisUrl } from '#test/support/databases.ts';
import { liveToken, tokenText } from '../toolsets/toolsets-support.ts';
import { sqliteFolder } from '../support.ts';
import {
  ask,
  hostsServing,
  questionIn,
  writingTool,
  type WrittenDatabase,
  writtenDatabase,
  yes,
} from './confirmation-support.ts';
import { until } from '#test/support/until.ts';

let folder: ReturnType<typeof sqliteFolder>;
let database: WrittenDatabase;
const ends: (() => unknown)[] = [];
beforeEach(async () => {
  folder = sqliteFolder();
  database = await writtenDatabase('sqlite', folder);
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  await database.drop();
  folder.remove();
});
const notes = async () => (await database.run('select * from notes')).length;

const twoHosts = (more: () => Partial<HostOptions> = () => ({}), auth_type: 'none' | 'bearer' = 'none') =>
  hostsServing(folder, ends, more, {
    connections: [database.connection],
    tools: [writingTool(database.connection, 'remove', { confirm: 'always' })],
    server: { auth_type },
  });

describe.skipIf(!reachable.redis && process.env['CI'] !== 'true')('two hosts with Redis', () => {
  test('take an answer that the other one asked for, once in all', async () => {
    const space = crypto.randomUUID();
    const { one, two } = await twoHosts(() => {
      const redis = openRedisLimits(redisUrl, space, () => undefined);
      ends.push(() => redis.close());
      return { redis };
    });
    await Bun.sleep(50);
    const { state } = questionIn(await ask(one.host.mcp, 'remove'));
    const both = await Promise.all([one, two].map(({ host }) => ask(host.mcp, 'remove', { more: yes(state) })));
    expect(both.map(({ body }) => body.error?.code ?? 0).toSorted((a, b) => a - b)).toEqual([-32_602, 0]);
    expect(await notes()).toBe(1);
    const { state: other } = questionIn(await ask(one.host.mcp, 'remove', { arguments: { id: 2 } }));
    const taken = await ask(two.host.mcp, 'remove', { arguments: { id: 2 }, more: yes(other) });
    expect([taken.body.result?.['resultType'], await notes()]).toEqual(['complete', 0]);
  });

  test('change nothing while Redis is away', async () => {
    const lost = openRedisLimits('redis://127.0.0.1:1', crypto.randomUUID(), () => undefined);
    ends.push(() => lost.close());
    const once = createOneUse(lost, 'h', () => 0, 1_000);
    expect(once.use('a')).rejects.toThrow('cannot be checked right now');
    await Bun.sleep(0);
  });
});

test('two hosts without Redis ask again instead of trusting each other', async () => {
  const { one, two } = await twoHosts();
  const { state } = questionIn(await ask(one.host.mcp, 'remove'));
  const elsewhere = questionIn(await ask(two.host.mcp, 'remove', { more: yes(state) }));
  expect(elsewhere.message).toContain('would change 2 rows');
  expect(await notes()).toBe(2);
  expect((await ask(one.host.mcp, 'remove', { more: yes(state) })).body.result).toMatchObject({ resultType: 'complete' });
  expect((await ask(one.host.mcp, 'remove', { more: yes(state) })).body.error?.code).toBe(-32_602);
  expect(await notes()).toBe(1);
});

test('an answer of one bearer is none of another', async () => {
  const { one } = await twoHosts(() => ({}), 'bearer');
  const texts = [tokenText(1), tokenText(2)];
  one.control.send('tokens', { tokens: await Promise.all(texts.map((text) => liveToken(text, null))) });
  const [mine = {}, theirs = {}] = texts.map((text) => ({ authorization: `Bearer ${text}` }));
  const first = await until(async () => {
    const answer = await ask(one.host.mcp, 'remove', { headers: mine });
    return answer.status === 200 ? answer : null;
  });
  const { state } = questionIn(first);
  const stolen = await ask(one.host.mcp, 'remove', { headers: theirs, more: yes(state) });
  expect([stolen.body.error?.code, stolen.body.error?.message]).toEqual([-32_602, expect.stringContaining('another caller')]);
  expect(await notes()).toBe(2);
  expect((await ask(one.host.mcp, 'remove', { headers: mine, more: yes(state) })).body.result).toMatchObject({
    resultType: 'complete',
  });
});

test('sealed state is opened by every key of the ring, and by no other', () => {
  const asked = {
    to: 'person' as const,
    tool_id: 't',
    snapshot: 's',
    call: 'c',
    changes: { direct: 1, all: 2 },
    nonce: 'n',
    host: null,
    asked_at: 1,
    ends_at: 2,
  };
  const old = createSealedState(['key-one-0123456789-0123456789-012345']);
  const rotated = createSealedState(['key-two-0123456789-0123456789-012345', 'key-one-0123456789-0123456789-012345']);
  const sealed = old.seal(asked);
  expect(rotated.open(sealed)).toEqual(asked);
  expect(old.open(rotated.seal(asked))).toBeNull();
  for (const text of ['', 'A', sealed.slice(1), `${sealed}A`, `${sealed}=`]) expect(old.open(text)).toBeNull();
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('person');
});
