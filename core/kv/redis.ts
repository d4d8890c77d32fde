import { Redis } from 'ioredis';
import type { Kv } from './kv.ts';

/** Adds to a counter and starts its window in one step. */
const INCREMENT = `
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return {count, left}`;

/** The shared key-value store. A lost server is an error of the call that met it; the client reconnects by itself. */
export function createRedisKv(url: string, onError: (error: Error) => void): Kv {
  const options = { maxRetriesPerRequest: 2, enableAutoPipelining: true, keyPrefix: 'sluice:' };
  const client = new Redis(url, options);
  client.on('error', onError);
  let subscriber: Redis | null = null;
  const listeners = new Map<string, Set<(message: string) => void>>();
  return {
    get: (key) => client.get(key),
    async set(key, value, ttl_ms) {
      await (ttl_ms === undefined ? client.set(key, value) : client.set(key, value, 'PX', ttl_ms));
    },
    async delete(key) {
      await client.del(key);
    },
    async increment(key, window_ms, by = 1) {
      const [count, left] = (await client.eval(INCREMENT, 1, key, by, window_ms)) as [number, number];
      return { count, resets_in_ms: left };
    },
    async append(key, value, keep) {
      await client
        .multi()
        .lpush(key, value)
        .ltrim(key, 0, keep - 1)
        .exec();
    },
    async range(key, skip, limit) {
      const [items, total] = await Promise.all([client.lrange(key, skip, skip + limit - 1), client.llen(key)]);
      return { items, total };
    },
    async publish(channel, message) {
      await client.publish(`sluice:${channel}`, message);
    },
    async subscribe(channel, listener) {
      if (subscriber === null) {
        subscriber = new Redis(url, { maxRetriesPerRequest: null });
        subscriber.on('error', onError);
        subscriber.on('message', (name: string, message: string) => {
          for (const each of listeners.get(name) ?? []) each(message);
        });
      }
      const name = `sluice:${channel}`;
      const set = listeners.get(name) ?? new Set();
      set.add(listener);
      listeners.set(name, set);
      await subscriber.subscribe(name);
      return () => set.delete(listener);
    },
    async close() {
      client.disconnect();
      subscriber?.disconnect();
    },
  };
}
