import { Redis } from 'ioredis';
import type { Kv } from './kv.ts';
import { namespaceOf, createRedisState, messageOf } from './redis-state.ts';

/** Adds to a counter and starts its window in one step. A refund for a window that has ended must not become credit in the next. */
const INCREMENT = `
if tonumber(ARGV[1]) < 0 and redis.call('EXISTS', KEYS[1]) == 0 then return {0, 0} end
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return {count, left}`;

/** Timeout of a command. */
const ANSWER_MS = 800;
/** Timeout of a connection attempt. */
const CONNECT_MS = 2_000;
const RETRY_MS = 1_000;
/** How often Redis is probed. */
const PROBE_MS = 3_000;

/** A command is sent once, and fails when its response is late. Commands are neither queued nor resent. */
const OPTIONS = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  commandTimeout: ANSWER_MS,
  connectTimeout: CONNECT_MS,
  retryStrategy: (times: number) => Math.min(100 * times, RETRY_MS),
};

export interface RedisKvOptions {
  readonly url: string;
  /** The same for every program of the installation: see `namespaceOf`. */
  readonly space: string;
  /** Counts and carries messages within this process while Redis is away. */
  readonly fallback: Kv;
  /** Called with the reason when Redis goes down, and when it is back. */
  readonly onChange: (up: boolean, reason: string) => void;
}

/** The shared key-value store. It reconnects automatically; until then counters and messages are local to this process. */
export function createRedisKv({ url, space, fallback, onChange }: RedisKvOptions): Kv {
  const prefix = namespaceOf(space);
  const client = new Redis(url, { ...OPTIONS, keyPrefix: prefix });
  const subscriber = new Redis(url, { ...OPTIONS, autoResubscribe: false });
  const listeners = new Map<string, Set<(message: string) => void>>();
  const subscribed = new Set<string>();
  const state = createRedisState(onChange);
  let closed = false;
  /** The first commands wait for the connection, so that state is shared from the first call on. */
  const first = Promise.withResolvers<void>();
  setTimeout(first.resolve, ANSWER_MS).unref();
  let began = false;
  void first.promise.then(() => {
    began = true;
  });
  const ask = async <T>(work: () => Promise<T>): Promise<T> => {
    if (!began) await first.promise;
    return state.watch(work());
  };
  /** Replaces a connection that hangs. One that refuses would refuse again. */
  const renew = (connection: Redis, error: unknown) => {
    if (!closed && !isRefusal(error)) connection.disconnect(true);
  };
  /** Rejects when Redis refuses a channel. */
  const listen = async (): Promise<void> => {
    const missing = [...listeners.keys()].filter((name) => !subscribed.has(name));
    if (missing.length === 0 || subscriber.status !== 'ready') return;
    try {
      await subscriber.subscribe(...missing);
      for (const name of missing) subscribed.add(name);
    } catch (error) {
      if (isRefusal(error)) throw error;
      renew(subscriber, error);
    }
  };
  // Runs every kind of command, because a Redis that is out of memory, read-only or short of permissions still answers a PING.
  const probe = async (): Promise<void> => {
    if (client.status !== 'ready') return;
    try {
      const probes = [client.eval(INCREMENT, 1, 'probe', 1, PROBE_MS), client.get('probe'), client.publish(`${prefix}probe`, '')];
      await Promise.all([...probes, listen()]);
      // It may have been lost since it answered.
      if (client.status === 'ready') state.set(true, 'it answers');
    } catch (error) {
      state.set(false, messageOf(error));
      renew(client, error);
    }
  };
  client.on('ready', () => void probe().then(first.resolve));
  client.on('error', (error: Error) => state.set(false, error.message));
  client.on('close', () => state.set(false, 'the connection was lost'));
  // The client reports a lost connection, and the probe finds one that the subscriber alone lost.
  subscriber.on('error', () => undefined);
  subscriber.on('close', () => subscribed.clear());
  subscriber.on('ready', () => void listen().catch((error: unknown) => state.set(false, messageOf(error))));
  subscriber.on('message', (name: string, message: string) => {
    for (const each of listeners.get(name) ?? []) each(message);
  });
  const probing = setInterval(() => {
    void probe();
    if (subscriber.status === 'ready') subscriber.ping().catch((error: unknown) => renew(subscriber, error));
  }, PROBE_MS);
  probing.unref();

  return {
    up: () => state.up() !== false,
    get: (key) => ask(() => client.get(key)),
    async set(key, value, ttl_ms) {
      await ask(() => (ttl_ms === undefined ? client.set(key, value) : client.set(key, value, 'PX', ttl_ms)));
    },
    async delete(key) {
      await ask(() => client.del(key));
    },
    async increment(key, window_ms, by = 1) {
      // While Redis is known to be down, calls do not wait for it.
      if (state.up() === false) return fallback.increment(key, window_ms, by);
      try {
        const [count, left] = (await ask(() => client.eval(INCREMENT, 1, key, by, window_ms))) as [number, number];
        return { count, resets_in_ms: left };
      } catch {
        return fallback.increment(key, window_ms, by);
      }
    },
    async publish(channel, message) {
      if (state.up() === false) return fallback.publish(`${prefix}${channel}`, message);
      await ask(() => client.publish(`${prefix}${channel}`, message)).catch(() =>
        fallback.publish(`${prefix}${channel}`, message),
      );
    },
    async subscribe(channel, listener) {
      const name = `${prefix}${channel}`;
      const set_of = listeners.get(name) ?? new Set();
      set_of.add(listener);
      listeners.set(name, set_of);
      const endFallback = await fallback.subscribe(name, listener);
      await listen().catch((error: unknown) => state.set(false, messageOf(error)));
      return () => {
        endFallback();
        set_of.delete(listener);
      };
    },
    async close() {
      closed = true;
      state.end();
      clearInterval(probing);
      client.disconnect();
      subscriber.disconnect();
      await fallback.close();
    },
  };
}

/** Redis has answered, with an error: out of memory, read-only, no permission. */
const isRefusal = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';
