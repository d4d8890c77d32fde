import { Redis } from 'ioredis';
import { digestOf, namespaceOf } from './namespace.ts';

/** Limits that several programs keep together, in Redis. Every part that one of them holds ends by itself. */
export interface Shares {
  /** False: Redis does not answer, and everybody counts alone. */
  up(): boolean;
  /** Takes up to `wanted` of what is left of a limit in its present window, which begins with the first taking. */
  permits(key: string, wanted: number, limit: number, window_ms: number): Promise<{ granted: number; resets_in_ms: number }>;
  /** Renews the places that an owner holds of a limit, or takes more, or hears that it should give some back. */
  places(ask: PlacesAsk): Promise<PlacesAnswer>;
  /** Gives all places of an owner back. */
  release(key: string, owner: string): Promise<void>;
  close(): void;
}

export interface PlacesAsk {
  readonly key: string;
  readonly owner: string;
  readonly limit: number;
  /** What the owner acts on now; it gives back by naming less than it was granted. */
  readonly held: number;
  /** How many it could use at this moment. */
  readonly needed: number;
  /** Without a renewal for so long its places are free. */
  readonly ttl_ms: number;
}
export interface PlacesAnswer {
  readonly held: number;
  /** Its part by now: the owner gives back what it holds beyond. */
  readonly target: number;
  /** Somebody needs more than there is. */
  readonly contended: boolean;
}

const PERMITS = `
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
local granted = math.max(0, math.min(tonumber(ARGV[1]), tonumber(ARGV[2]) - count))
if granted > 0 then redis.call('INCRBY', KEYS[1], granted) end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = tonumber(ARGV[3])
  redis.call('PEXPIRE', KEYS[1], left)
end
return {granted, left}`;

/**
 * What is needed is divided max-min fairly; a rest that cannot be divided goes round by the second, so that nobody starves when
 * there are more owners than places. What nobody needs is divided evenly as a reserve. Nobody is given what another holds still.
 */
const PLACES = `
local owner, limit, held, needed, ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local entries, taken, sum = {{owner = owner, needed = needed}}, 0, needed
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local h, n, ends = all[i + 1]:match('^(%d+) (%d+) (%d+)$')
  if ends == nil or tonumber(ends) <= now then
    redis.call('HDEL', KEYS[1], all[i])
  elseif all[i] ~= owner then
    taken = taken + h
    sum = sum + n
    entries[#entries + 1] = {owner = all[i], needed = tonumber(n)}
  end
end
table.sort(entries, function(a, b) if a.needed == b.needed then return a.owner < b.owner end return a.needed < b.needed end)
local left, target = limit, needed
for i, entry in ipairs(entries) do
  local hungry = #entries - i + 1
  local fair = math.floor(left / hungry)
  if entry.needed > fair then
    local rest = left - fair * hungry
    local ranked = {}
    for j = i, #entries do ranked[#ranked + 1] = entries[j].owner end
    table.sort(ranked)
    for rank, name in ipairs(ranked) do
      if name == owner then
        target = fair
        if (rank - 1 + time[1]) % hungry < rest then target = fair + 1 end
      end
    end
    left = 0
    break
  end
  left = left - entry.needed
end
table.sort(entries, function(a, b) return a.owner < b.owner end)
for rank, entry in ipairs(entries) do
  if entry.owner == owner then
    target = target + math.floor(left / #entries)
    if rank <= left % #entries then target = target + 1 end
  end
end
if held < target then held = held + math.max(0, math.min(target - held, limit - taken - held)) end
redis.call('HSET', KEYS[1], owner, held .. ' ' .. needed .. ' ' .. string.format('%.0f', now + ttl))
redis.call('PEXPIRE', KEYS[1], ttl * 2)
return {held, target, sum > limit and 1 or 0}`;

interface Scripted extends Redis {
  sluicePermits(key: string, wanted: number, limit: number, window_ms: number): Promise<[number, number]>;
  sluicePlaces(
    key: string,
    owner: string,
    limit: number,
    held: number,
    needed: number,
    ttl_ms: number,
  ): Promise<[number, number, number]>;
}

/** An answer that takes longer counts as none. */
const ANSWER_MS = 2_000;
const RETRY_MS = 1_000;

/**
 * @param space the same for every program of the installation: see `namespaceOf`.
 * @param onChange is told when Redis is lost, with the reason, and when it is back.
 */
export function openShares(url: string, space: string, onChange: (up: boolean, reason: string) => void): Shares {
  const client = new Redis(url, {
    keyPrefix: `${namespaceOf(space)}shares:`,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: ANSWER_MS,
    connectTimeout: 2_000,
    retryStrategy: (times) => Math.min(100 * times, RETRY_MS),
    scripts: { sluicePermits: { lua: PERMITS, numberOfKeys: 1 }, sluicePlaces: { lua: PLACES, numberOfKeys: 1 } },
  }) as Scripted;
  let up: boolean | null = null;
  let closed = false;
  const set = (next: boolean, reason: string) => {
    if (up === next || closed) return;
    up = next;
    onChange(next, reason);
  };
  const watched = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      set(false, reasonOf(error));
      throw error;
    }
  };
  // What is asked of it later: a Redis that is out of memory, read-only or short of permissions answers a PING.
  const look = () => {
    if (client.status !== 'ready') return;
    client.sluicePermits('probe', 1, Number.MAX_SAFE_INTEGER, RETRY_MS).then(
      () => set(true, 'it answers'),
      (error: unknown) => set(false, reasonOf(error)),
    );
  };
  client.on('ready', look);
  client.on('error', (error: Error) => set(false, error.message));
  client.on('close', () => set(false, 'the connection was lost'));
  // A connection that hangs is no lost one: what was given up is tried again.
  const probe = setInterval(() => {
    if (up === false) look();
  }, RETRY_MS);
  probe.unref();

  return {
    up: () => up === true,
    async permits(key, wanted, limit, window_ms) {
      const [granted, resets_in_ms] = await watched(client.sluicePermits(`rate:${digestOf(key)}`, wanted, limit, window_ms));
      return { granted, resets_in_ms };
    },
    async places({ key, owner, limit, held, needed, ttl_ms }) {
      const [now_held, target, contended] = await watched(
        client.sluicePlaces(`places:${key}`, owner, limit, held, needed, ttl_ms),
      );
      return { held: now_held, target, contended: contended === 1 };
    },
    async release(key, owner) {
      await client.hdel(`places:${key}`, owner);
    },
    close() {
      closed = true;
      clearInterval(probe);
      client.disconnect();
    },
  };
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
