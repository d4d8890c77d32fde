import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { createSealing } from '#core/lib/sealing.ts';

/**
 * Messages between hosts in Redis, because any host continues a session. A message is sealed together with its key, so that a
 * client with write access to Redis can neither forge a message nor move it to another key.
 */
export interface Mailboxes {
  /** Opens a mailbox and waits for a message of another host. @returns a function that stops waiting. */
  expect(key: string, take: (text: string) => void): () => void;
  /** Sends a message, if the mailbox is open. */
  hand(key: string, text: string): void;
}

export interface MailboxOptions {
  /** Interval between two looks into the mailbox. */
  readonly look_ms: number;
  /** The mailbox of a host that failed expires after this time. */
  readonly lasts_ms: number;
  /** `SVC_ENCRYPTION_KEY`. */
  readonly keys: readonly string[];
}

interface MailboxMessage {
  readonly mailbox: string;
  readonly text: string;
}

/** Longest sealed message, in characters: answers of forms are short. */
const LONGEST = 96 * 1024;

/** @param redis null: nothing is forwarded. */
export function createMailboxes(redis: RedisLimits | null, { look_ms, lasts_ms, keys }: MailboxOptions): Mailboxes {
  if (redis === null) return { expect: () => () => undefined, hand: () => undefined };
  // The Redis client reports a lost connection itself. Messages that reach the waiting host directly still work.
  const lost = () => undefined;
  const sealing = createSealing<MailboxMessage>(keys, 'mcp-mailboxes/1', LONGEST);
  return {
    expect(key, take) {
      redis.openMailbox(key, lasts_ms).catch(lost);
      const look = async () => {
        const message = sealing.open(await redis.takeMessage(key));
        if (message?.mailbox === key) take(message.text);
      };
      const looking = setInterval(() => {
        if (redis.up()) look().catch(lost);
      }, look_ms);
      return () => {
        clearInterval(looking);
        redis.closeMailbox(key).catch(lost);
      };
    },
    hand(key, text) {
      const sealed = sealing.seal({ mailbox: key, text });
      if (sealed.length <= LONGEST) redis.putMessage(key, sealed).catch(lost);
    },
  };
}
