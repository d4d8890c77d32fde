import { afterEach, beforeAll, afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openRedisLimits, type RedisLimits } from '#core/cluster/redis-limits.ts';
import { createSlotShares, type SlotShares } from '#mcp-host/connections/slot-shares.ts';
import { createQueue, type Queue } from '#mcp-host/connections/queue.ts';
import { createRateLimits, type RateLimits, type RateSubject } from '#mcp-host/limits/rate-limit.ts';
import { createLog } from '#core/process/log.ts';
import { createRandom } from '#test/support/chance.ts';
import { reachable, redisUrl } from '#test/support/databases.ts';
import { openTcpProxy, type TcpProxy } from '#test/support/tcp-proxy.ts';
import {
  connectionOf,
  controlServer,
  type ControlServer,
  modern,
  snapshotOf,
  sqliteFolder,
  TOKEN,
  type TestHost,
  testHost,
  toolOf,
} from '../support.ts';
import { until } from '#test/support/until.ts';

const REDIS = redisUrl;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function shared(space: string, url = REDIS): Promise<RedisLimits & { readonly changes: string[] }> {
  const changes: string[] = [];
  const redis = openRedisLimits(url, space, (up) => void changes.push(up ? 'up' : 'down'));
  ends.push(() => redis.close());
  await until(() => redis.up());
  return Object.assign(redis, { changes });
}

interface Member {
  readonly queue: Queue;
  readonly redis: RedisLimits;
  readonly slots: SlotShares;
}

const log = createLog('ERROR', () => {});
/** One host's queue of a connection that others have as well. */
async function member(space: string, max_concurrency: number, url?: string): Promise<Member> {
  const redis = await shared(space, url);
  const queue = createQueue({ name: 'shop', max_concurrency, queue_limit: 100, queue_timeout_ms: 60_000 });
  const queues = () => [['connection', queue] as const];
  const slots = createSlotShares({ redis, owner: crypto.randomUUID(), queues, log, idle_ms: 500 });
  ends.push(() => slots.close());
  return { queue, redis, slots };
}
const active = (members: readonly Member[]) => members.reduce((sum, { queue }) => sum + queue.counters().active, 0);
const slots = (members: readonly Member[]) => members.reduce((sum, { queue }) => sum + queue.gauge().limit, 0);

/** Calls that stay in their place until they are told to leave. */
function occupy({ queue }: Member, count: number): { readonly running: () => number; leave(): void } {
  let running = 0;
  for (let n = 0; n < count; n++) {
    const entry = queue.enter();
    if (entry === undefined) running++;
    else entry.then(() => running++).catch(() => undefined);
  }
  return {
    running: () => running,
    leave() {
      running--;
      queue.leave();
    },
  };
}

describe.skipIf(!reachable.redis)('slots of a connection, shared by hosts over Redis', () => {
  test('are never more than the limit, all of them are used, and every host gets some', async () => {
    const space = crypto.randomUUID();
    const members = [await member(space, 4), await member(space, 4), await member(space, 4)];
    await until(() => slots(members) === 4);
    const work = members.map((one) => occupy(one, 30));
    const chance = createRandom();
    const served = [0, 0, 0];
    let most = 0;
    while (served.some((count) => count < 30)) {
      most = Math.max(most, active(members));
      for (const [index, one] of work.entries()) {
        if (one.running() === 0 || chance.whole(10) > 0) continue;
        one.leave();
        served[index] = (served[index] ?? 0) + 1;
      }
      await Bun.sleep(1);
    }
    expect(most).toBe(4);
  });

  test('go to the host that needs them, and come back to who needs them later', async () => {
    const space = crypto.randomUUID();
    const [first, second] = [await member(space, 4), await member(space, 4)];
    const busy = occupy(first, 4);
    await until(() => busy.running() === 4);
    const late = occupy(second, 2);
    expect(active([first, second])).toBe(4);
    busy.leave();
    busy.leave();
    await until(() => late.running() === 2);
    expect(active([first, second])).toBe(4);
  });

  test('with fewer slots than hosts go round, so that nobody starves', async () => {
    const space = crypto.randomUUID();
    const members = [await member(space, 1), await member(space, 1), await member(space, 1)];
    await until(() => slots(members) === 1);
    const work = members.map((one) => occupy(one, 200));
    const served = new Set<number>();
    await until(() => {
      expect(active(members)).toBeLessThanOrEqual(1);
      for (const [index, one] of work.entries()) {
        if (one.running() === 0) continue;
        served.add(index);
        one.leave();
      }
      return served.size === 3;
    });
  });

  test('Redis lost: each host has the whole limit and goes on; back: the limit is one again', async () => {
    const space = crypto.randomUUID();
    let broken = false;
    const proxy: TcpProxy = await openTcpProxy(
      { host: '127.0.0.1', port: 6379 },
      { toServer: (bytes) => (broken ? null : bytes), toClient: (bytes) => (broken ? null : bytes) },
    );
    ends.push(() => proxy.close());
    const url = `redis://127.0.0.1:${proxy.port}/0`;
    const members = [await member(space, 2, url), await member(space, 2, url)];
    await until(() => slots(members) === 2);
    broken = true;
    proxy.cut();
    await until(() => members.every(({ redis, queue }) => !redis.up() && queue.gauge().limit === 2));
    const work = members.map((one) => occupy(one, 2));
    await until(() => active(members) === 4);
    broken = false;
    await until(() => members.every(({ redis }) => redis.up()));
    // What runs is not ended; what comes has to share.
    const [one, two] = work;
    one?.leave();
    one?.leave();
    two?.leave();
    two?.leave();
    await until(() => slots(members) === 2);
  });

  test('Redis that hangs is like Redis lost: nobody waits for it', async () => {
    let hangs = false;
    const proxy = await openTcpProxy(
      { host: '127.0.0.1', port: 6379 },
      { toServer: (bytes) => (hangs ? Buffer.alloc(0) : bytes) },
    );
    ends.push(() => proxy.close());
    const alone = await member(crypto.randomUUID(), 3, `redis://127.0.0.1:${proxy.port}/0`);
    hangs = true;
    await until(() => !alone.redis.up());
    const work = occupy(alone, 3);
    await until(() => work.running() === 3);
  });
});

describe.skipIf(!reachable.redis)('a rate shared by hosts over Redis', () => {
  const limitsOf = (redis: RedisLimits, tool_per_minute: number) => {
    const limits = createRateLimits({ tool_per_minute, caller_per_minute: 0, redis });
    return limits;
  };
  const attempt = async (limits: RateLimits, subject: RateSubject = { id: 'tool', name: 'one' }): Promise<string> => {
    try {
      await limits.take(subject, () => '');
      return 'passed';
    } catch (error) {
      return (error as { detail: string }).detail;
    }
  };

  test.each([1, 7, 60, 500])('of %d lets exactly so many through, however the calls come', async (limit) => {
    const space = crypto.randomUUID();
    const hosts: RateLimits[] = [];
    for (let n = 0; n < 3; n++) hosts.push(limitsOf(await shared(space), limit));
    // More for each of them than there is for all.
    const attempts = Array.from({ length: 3 * (limit + 20) }, (_, n) => attempt(hosts[n % 3] ?? limitsOf(NO_CALLER_CHOSEN, 1)));
    const answers = await Promise.all(attempts);
    expect(answers.filter((answer) => answer === 'passed')).toHaveLength(limit);
    for (const answer of answers) if (answer !== 'passed') expect(answer).toMatch(/Try again in \d+ seconds?\.$/);
  });

  test.each([1, 7, 60])('of %d that a tool has for itself is shared as well', async (limit) => {
    const space = crypto.randomUUID();
    const hosts: RateLimits[] = [];
    for (let n = 0; n < 3; n++) hosts.push(limitsOf(await shared(space), 0));
    const tool = { id: 'own', name: 'own', rate_limit_per_minute: limit };
    const attempts = Array.from({ length: 3 * (limit + 20) }, (_, n) =>
      attempt(hosts[n % 3] ?? limitsOf(NO_CALLER_CHOSEN, 1), tool),
    );
    const answers = await Promise.all(attempts);
    expect(answers.filter((answer) => answer === 'passed')).toHaveLength(limit);
  });

  test('is whole for a host that others leave it to', async () => {
    const space = crypto.randomUUID();
    const [busy] = [limitsOf(await shared(space), 100), limitsOf(await shared(space), 100)];
    const answers = [];
    for (let n = 0; n < 110; n++) answers.push(await attempt(busy));
    expect(answers.filter((answer) => answer === 'passed')).toHaveLength(100);
  });

  test('most calls find a permit at hand and wait for nothing', async () => {
    const limits = limitsOf(await shared(crypto.randomUUID()), 10_000);
    let waited = 0;
    for (let n = 0; n < 1_000; n++) {
      const turn = limits.take({ id: 'tool', name: 'one' }, () => '');
      if (turn !== undefined) waited++;
      await turn;
      await Bun.sleep(0);
    }
    expect(waited).toBeLessThan(200);
  });

  test('Redis lost in the middle of a minute: the host counts on alone, with what it has let through', async () => {
    let broken = false;
    const proxy = await openTcpProxy({ host: '127.0.0.1', port: 6379 }, { toServer: (bytes) => (broken ? null : bytes) });
    ends.push(() => proxy.close());
    const redis = await shared(crypto.randomUUID(), `redis://127.0.0.1:${proxy.port}/0`);
    const limits = limitsOf(redis, 10);
    for (let n = 0; n < 4; n++) expect(await attempt(limits)).toBe('passed');
    broken = true;
    proxy.cut();
    await until(() => !redis.up());
    const answers = [];
    for (let n = 0; n < 8; n++) answers.push(await attempt(limits));
    expect(answers.filter((answer) => answer === 'passed')).toHaveLength(6);
    broken = false;
    await until(() => redis.up());
    expect(redis.changes).toEqual(['up', 'down', 'up']);
  });
});

test.skipIf(!reachable.redis)('two hosts keep one rate for a tool and for a caller', async () => {
  const space = crypto.randomUUID();
  const folder = sqliteFolder();
  const control = controlServer();
  ends.push(
    () => folder.remove(),
    () => control.stop(),
  );
  const connection = connectionOf({});
  const tools = ['one', 'two'].map((name) => toolOf(connection, name, 'select 1 as one'));
  control.greeting = { event: 'snapshot', data: snapshotOf(1, { connections: [connection], tools }) };
  const hosts: TestHost[] = [];
  for (const id of ['a', 'b']) {
    const acknowledged = control.nextAck();
    const rates = { tool_per_minute: 9, caller_per_minute: 12 };
    const host = await testHost(folder.directory, control.url, { id, rates, redis: await shared(space) });
    ends.push(() => host.stop());
    await acknowledged;
    hosts.push(host);
  }
  const call = async (host: TestHost, name: string, address: string) => {
    const headers = { 'x-service-token': TOKEN, 'x-client-address': address };
    const { body } = await modern(host.mcp, 'tools/call', { name }, headers);
    return body.result?.['isError'] !== true;
  };
  const passed = async (name: string, address: string) => {
    const calls = hosts.flatMap((host) => Array.from({ length: 15 }, () => call(host, name, address)));
    return (await Promise.all(calls)).filter(Boolean).length;
  };
  expect(await passed('one', '192.0.2.1')).toBe(9);
  expect(await passed('two', '192.0.2.1')).toBe(0);
  expect(await passed('two', '192.0.2.2')).toBe(9);
});

const NO_CALLER_CHOSEN: RedisLimits = {
  up: () => false,
  permits: () => Promise.reject(new Error('nobody')),
  slots: () => Promise.reject(new Error('nobody')),
  release: () => Promise.resolve(),
  openMailbox: () => Promise.reject(new Error('nobody')),
  putMessage: () => Promise.reject(new Error('nobody')),
  takeMessage: () => Promise.reject(new Error('nobody')),
  closeMailbox: () => Promise.resolve(),
  close() {},
};

describe.skipIf(!reachable.redis)('hosts as programs', () => {
  const MAIN = join(import.meta.dir, '../../../mcp-host/main.ts');
  const folder = sqliteFolder();
  const children: Bun.Subprocess[] = [];
  let control: ControlServer;
  beforeAll(() => {
    control = controlServer();
  });
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map((child) => child.exited));
    await control.stop();
    folder.remove();
  });
  const connection = connectionOf({ max_concurrency: 2, queue_timeout_ms: 60_000 });
  const endless = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
  const snapshot = snapshotOf(1, {
    connections: [connection],
    tools: [toolOf(connection, 'endless', endless, { timeout_ms: 60_000 }), toolOf(connection, 'one', 'select 1 as one')],
  });

  async function start(name: string): Promise<{ readonly mcp: URL; readonly child: Bun.Subprocess }> {
    const directory = join(folder.directory, name);
    mkdirSync(directory);
    control.greeting = { event: 'snapshot', data: snapshot };
    const acknowledged = control.nextAck();
    const child = Bun.spawn([process.execPath, MAIN], {
      env: {
        PATH: process.env['PATH'],
        SVC_ENV: 'production',
        SVC_ENCRYPTION_KEY: 'a-key-0123456789-0123456789-0123456789',
        SVC_AGENT_SERVICE_TOKEN: TOKEN,
        SVC_SERVER_URL: control.url,
        SVC_DATA_DIR: directory,
        SVC_SQLITE_DIR: folder.directory,
        SVC_BIND: '127.0.0.1',
        SVC_FASTMCP_PORT: '0',
        REDIS_URL: REDIS,
      },
      stdout: 'ignore',
      stderr: 'ignore',
      ipc: () => undefined,
    });
    children.push(child);
    const { url } = await acknowledged;
    return { child, mcp: new URL('/mcp', url ?? '') };
  }
  async function queueOf(mcp: URL): Promise<{ active: number; waiting: number }> {
    const answer = await fetch(new URL('/health', mcp), { headers: { 'x-service-token': TOKEN } });
    const { connections } = (await answer.json()) as { connections: { queue: { active: number; waiting: number } }[] };
    return connections[0]?.queue ?? { active: 0, waiting: 0 };
  }

  test('one that is killed gives its slots back', async () => {
    const first = await start('first');
    const lost = [1, 2].map(() => modern(first.mcp, 'tools/call', { name: 'endless' }).catch(() => null));
    await until(async () => (await queueOf(first.mcp)).active === 2);
    const second = await start('second');
    // Once the second one knows of the first, its calls wait.
    const waiting = new Set<Promise<unknown>>();
    await until(async () => {
      if (waiting.size === 0) {
        const call = modern(second.mcp, 'tools/call', { name: 'one' });
        waiting.add(call);
        void call.finally(() => waiting.delete(call));
      }
      return (await queueOf(second.mcp)).waiting > 0;
    });
    first.child.kill('SIGKILL');
    await Promise.all(waiting);
    await Promise.all(lost);
    const calls = await Promise.all([1, 2, 3, 4].map(() => modern(second.mcp, 'tools/call', { name: 'one' })));
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});
