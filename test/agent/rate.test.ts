import { describe, expect, test } from 'bun:test';
import { Redis } from 'ioredis';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import { isErrorBody } from '#test/support/app.ts';
import { reachable, redisUrl, testDatabase } from '#test/support/databases.ts';
import { openTcpProxy } from '#test/support/tcp-proxy.ts';
import { until } from '#test/support/until.ts';

/** A database of Redis that no other test uses. */
const REDIS = `${redisUrl}/14`;
const LIMIT = 5;

const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_queue_metrics', arguments: {} } };
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

const mcp = (base: string, token: string, body: unknown = CALL) =>
  fetch(`${base}/agent-mcp/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
  });
const rest = (base: string, token: string) =>
  fetch(`${base}/api/v1/queue/metrics`, { headers: { authorization: `Bearer ${token}` } });

interface Places {
  readonly agents: readonly ListeningAgent[];
  readonly stop: () => Promise<void>;
}

async function oneServer(): Promise<Places> {
  const agent = await listeningAgent({ SVC_AGENT_RATE_LIMIT: String(LIMIT) });
  return { agents: [agent, agent], stop: () => agent.stop() };
}

/** Each with an agent of its own; one PostgreSQL, one Redis. */
async function twoServers(): Promise<Places> {
  const database = await testDatabase('postgresql');
  const redis = new Redis(REDIS);
  await redis.flushdb();
  const { host, port, username, database: name } = database.settings;
  const variables = {
    SVC_DATABASE_URL: `postgres://${username}@${host}:${port}/${name}`,
    SVC_KV: 'redis',
    SVC_REDIS_URL: REDIS,
    SVC_AGENT_RATE_LIMIT: String(LIMIT),
  };
  const agents = [await listeningAgent(variables), await listeningAgent(variables)];
  return {
    agents,
    async stop() {
      for (const agent of agents) await agent.stop();
      await redis.flushdb();
      redis.disconnect();
      await database.drop();
    },
  };
}

const STORES: [string, () => Promise<Places>, boolean][] = [
  ['one server and its memory', oneServer, true],
  ['two servers and one Redis', twoServers, reachable.postgres && reachable.redis],
];

describe.each(STORES)('%s', (_, start, possible) => {
  test.skipIf(!possible)(
    'let a token make as many calls a minute as the limit says, wherever it calls, and none more',
    async () => {
      const { agents, stop } = await start();
      try {
        const [one, other] = agents;
        if (one === undefined || other === undefined) throw new Error('There are two.');
        const token = await one.token();
        // Below and at the limit: MCP on both ports of both, and REST.
        const fine = [mcp(one.s.url, token), mcp(other.s.url, token), mcp(other.url, token), rest(one.s.url, token)];
        expect((await Promise.all(fine)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
        expect((await rest(other.s.url, token)).status).toBe(200);
        // Above it, everywhere.
        for (const late of [
          mcp(one.s.url, token),
          mcp(one.url, token),
          mcp(other.s.url, token),
          rest(one.s.url, token),
          rest(other.s.url, token),
        ]) {
          const answer = await late;
          expect([answer.status, isErrorBody(await answer.json())]).toEqual([429, true]);
          const seconds = Number(answer.headers.get('retry-after'));
          expect([seconds >= 1, seconds <= 60]).toEqual([true, true]);
        }
        // Lists are no calls, and other tokens have a minute of their own.
        expect((await mcp(one.s.url, token, LIST)).status).toBe(200);
        const second = await other.token();
        expect((await mcp(one.s.url, second)).status).toBe(200);
        // The setting wins, for every server, at once on the one and soon on the others.
        await one.s.call('config.update', { agent_rate_limit: 2 });
        const third = await other.token();
        expect((await mcp(one.s.url, third)).status).toBe(200);
        expect((await rest(one.s.url, third)).status).toBe(200);
        await until(async () => (await rest(other.s.url, third)).status === 429);
        const { total } = await other.s.call('agent_activity.list', { success: true });
        expect(total).toBeGreaterThanOrEqual(LIMIT + 3);
        const page = await one.s.call('agent_activity.list', { success: false, limit: 100 });
        for (const item of page.items as object[]) expect(item).toMatchObject({ error: 'rate_limited' });
      } finally {
        await stop();
      }
    },
    60_000,
  );
});

test.skipIf(!reachable.redis)(
  'while Redis is away a server counts by itself, and what was done is in the activity',
  async () => {
    const { port, hostname } = new URL(redisUrl);
    const proxy = await openTcpProxy({ host: hostname, port: Number(port) });
    const a = await listeningAgent({
      SVC_KV: 'redis',
      SVC_REDIS_URL: `redis://127.0.0.1:${proxy.port}/14`,
      SVC_AGENT_RATE_LIMIT: String(LIMIT),
    });
    try {
      const before = await a.token();
      expect((await mcp(a.s.url, before)).status).toBe(200);
      const losses = () => a.s.lines.filter(({ message }) => message === 'redis lost').length;
      const earlier = losses();
      await proxy.close();
      await until(() => losses() > earlier);
      const token = await a.token();
      for (let calls = 0; calls < LIMIT; calls++) expect((await (calls % 2 === 0 ? rest : mcp)(a.s.url, token)).status).toBe(200);
      for (const answer of [await rest(a.s.url, token), await mcp(a.s.url, token)]) {
        expect([answer.status, isErrorBody(await answer.json())]).toEqual([429, true]);
      }
      expect(await a.s.call('agent_activity.list', { success: true })).toMatchObject({ total: LIMIT + 1 });
      expect((await a.s.send('queue.metrics')).status).toBe(200);
      // Told once, however long it is away.
      expect(losses()).toBe(earlier + 1);
    } finally {
      await a.stop();
    }
  },
  60_000,
);
