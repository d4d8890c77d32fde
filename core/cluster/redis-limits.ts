import { Redis } from 'ioredis';
import { digestOf, namespaceOf, createRedisState } from './redis-state.ts';

/** Limits that several programs share through Redis, and mailboxes between them. Everything expires, so a crashed program blocks nothing. */
export interface RedisLimits {
  /** False while Redis does not answer: each program then counts alone. */
  up(): boolean;
  /** Takes up to `requested` of what remains of a limit in the current window, which begins with the first request. */
  permits(key: string, requested: number, limit: number, window_ms: number): Promise<{ granted: number; resets_in_ms: number }>;
  /** Renews the slots that an owner holds, takes more, or reports how many to give back. */
  slots(needed: SlotsNeeded): Promise<SlotsGranted>;
  /** Releases all slots of an owner. */
  release(key: string, owner: string): Promise<void>;
  /** Opens a mailbox for one message. */
  openMailbox(key: string, ttl_ms: number): Promise<void>;
  /** Ignored when no mailbox is open. */
  putMessage(key: string, text: string): Promise<void>;
  /** Returns an empty text when no message arrived yet. */
  takeMessage(key: string): Promise<string>;
  closeMailbox(key: string): Promise<void>;
  close(): void;
}

export interface SlotsNeeded {
  readonly key: string;
  readonly owner: string;
  readonly limit: number;
  /** Slots in use now. To give slots back, the owner sends fewer than it was granted. */
  readonly held: number;
  /** Slots that the owner could use now. */
  readonly needed: number;
  /** The owner's slots are freed after this time without a renewal. */
  readonly ttl_ms: number;
}
export interface SlotsGranted {
  readonly held: number;
  /** The owner's current share. It gives back slots beyond it. */
  readonly target: number;
  /** Whether more slots are needed than the limit allows. */
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
 * Divides the needed slots max-min fairly. A remainder rotates every second, so that no owner starves when there are more owners than
 * slots. Unneeded slots are divided evenly as a reserve. A slot that another owner still holds is not granted.
 */
const SLOTS = `
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
  sluicePermits(key: string, requested: number, limit: number, window_ms: number): Promise<[number, number]>;
  sluiceSlots(
    key: string,
    owner: string,
    limit: number,
    held: number,
    needed: number,
    ttl_ms: number,
  ): Promise<[number, number, number]>;
}

/** A slower answer counts as a failure. */
const ANSWER_MS = 2_000;
const RETRY_MS = 1_000;

/**
 * @param space the same for every program of the installation: see `namespaceOf`.
 * @param onChange is called with the reason when Redis goes down, and when it is back.
 */
export function openRedisLimits(url: string, space: string, onChange: (up: boolean, reason: string) => void): RedisLimits {
  const client = new Redis(url, {
    keyPrefix: `${namespaceOf(space)}shares:`,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: ANSWER_MS,
    connectTimeout: 2_000,
    retryStrategy: (times) => Math.min(100 * times, RETRY_MS),
    scripts: { sluicePermits: { lua: PERMITS, numberOfKeys: 1 }, sluiceSlots: { lua: SLOTS, numberOfKeys: 1 } },
  }) as Scripted;
  const state = createRedisState(onChange);
  // Runs a script, because a Redis that is out of memory, read-only or short of permissions still answers a PING.
  const probe = () => {
    if (client.status !== 'ready') return;
    state.watch(client.sluicePermits('probe', 1, Number.MAX_SAFE_INTEGER, RETRY_MS)).then(
      () => state.set(true, 'it answers'),
      () => undefined,
    );
  };
  client.on('ready', probe);
  client.on('error', (error: Error) => state.set(false, error.message));
  client.on('close', () => state.set(false, 'the connection was lost'));
  // A connection that hangs is not closed, so it is probed again after a failure.
  const probing = setInterval(() => {
    if (state.up() === false) probe();
  }, RETRY_MS);
  probing.unref();

  return {
    up: () => state.up() === true,
    async permits(key, requested, limit, window_ms) {
      const [granted, resets_in_ms] = await state.watch(
        client.sluicePermits(`rate:${digestOf(key)}`, requested, limit, window_ms),
      );
      return { granted, resets_in_ms };
    },
    async slots({ key, owner, limit, held, needed, ttl_ms }) {
      const [now_held, target, contended] = await state.watch(
        client.sluiceSlots(`slots:${key}`, owner, limit, held, needed, ttl_ms),
      );
      return { held: now_held, target, contended: contended === 1 };
    },
    async release(key, owner) {
      await client.hdel(`slots:${key}`, owner);
    },
    async openMailbox(key, ttl_ms) {
      await state.watch(client.set(`text:${digestOf(key)}`, '', 'PX', ttl_ms));
    },
    async putMessage(key, text) {
      await state.watch(client.set(`text:${digestOf(key)}`, text, 'KEEPTTL', 'XX'));
    },
    async takeMessage(key) {
      return (await state.watch(client.get(`text:${digestOf(key)}`))) ?? '';
    },
    async closeMailbox(key) {
      await client.del(`text:${digestOf(key)}`);
    },
    close() {
      state.end();
      clearInterval(probing);
      client.disconnect();
    },
  };
}
