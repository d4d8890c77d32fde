import { afterEach, beforeEach, expect, test } from 'bun:test';
import { openRedisLimits } from '#core/cluster/redis-limits.ts';
import { reachable, redisUrl } from '#test/support/databases.ts';
import { connectionOf, rpc, sqliteFolder, toolOf } from '../support.ts';
import { hostsServing } from '#test/mcp-host/call/confirmation-support.ts';
import { until } from '#test/support/until.ts';

let folder: ReturnType<typeof sqliteFolder>;
const ends: (() => unknown)[] = [];
beforeEach(() => {
  folder = sqliteFolder();
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  folder.remove();
});

test.skipIf(!reachable.redis && process.env['CI'] !== 'true')(
  'a cancellation that reaches another host than the call ends it, and no other call',
  async () => {
    const space = crypto.randomUUID();
    const connection = connectionOf({});
    const endless = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
    const { one, two } = await hostsServing(
      folder,
      ends,
      () => {
        const redis = openRedisLimits(redisUrl, space, () => undefined);
        ends.push(() => redis.close());
        return { redis };
      },
      { connections: [connection], tools: [toolOf(connection, 'endless', endless)] },
    );
    const open = async () => {
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
      const { headers } = await rpc(one.host.mcp, { id: 1, method: 'initialize', params });
      return { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
    };
    const [mine, theirs] = [await open(), await open()];
    const active = async () => (await one.host.health()).connections[0]?.queue.active;
    const leave = new AbortController();
    const calls = [mine, theirs].map((session) =>
      fetch(one.host.mcp, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...session },
        body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'endless' } }),
        signal: leave.signal,
      }).then(
        ({ status }) => status,
        () => 'left',
      ),
    );
    await until(async () => (await active()) === 2);
    // Long enough for its host to listen for it.
    await Bun.sleep(600);
    const cancel = (request: number) =>
      rpc(two.host.mcp, { method: 'notifications/cancelled', params: { requestId: request } }, mine);
    expect((await cancel(8)).status).toBe(202);
    expect((await cancel(7)).status).toBe(202);
    await until(async () => (await active()) === 1);
    expect(await calls[0]).toBe(202);
    expect(await active()).toBe(1);
    leave.abort();
    expect(await calls[1]).toBe('left');
  },
  60_000,
);
