import { describe, expect, test } from 'bun:test';
import { createSessionPool } from '#core/engines/shared/session-pool.ts';
import { until } from '#test/support/until.ts';

type Kind = 'read' | 'write';

interface Fake {
  readonly id: number;
  readonly kind: Kind;
  usable: boolean;
  close(): Promise<void>;
}

const forever = new AbortController().signal;

/** A pool of sessions that are nothing, with a record of what happened to them. */
function createPool(limit: number, idle_ms = 60_000) {
  const events: string[] = [];
  let count = 0;
  const pool = createSessionPool<Kind, Fake>({
    limit,
    idle_ms,
    open: async (kind) => {
      const id = ++count;
      events.push(`open ${kind} ${id}`);
      await Bun.sleep(1);
      return {
        id,
        kind,
        usable: true,
        close: async () => {
          await Bun.sleep(1);
          events.push(`close ${kind} ${id}`);
        },
      };
    },
  });
  const use = (kind: Kind, ms = 1, signal = forever) =>
    pool.use(kind, signal, async (session) => {
      await Bun.sleep(ms);
      return session;
    });
  return { pool, events, use };
}

describe('the session pool', () => {
  test('opens on demand, keeps what is idle, and never mixes kinds', async () => {
    const { pool, events, use } = createPool(3);
    expect(pool.sessions()).toBe(0);
    const first = await use('read');
    expect(await use('read')).toBe(first);
    expect((await use('write')).kind).toBe('write');
    expect(await use('read')).toBe(first);
    expect(pool.sessions()).toBe(2);
    await pool.close();
    expect(events.toSorted()).toEqual(['close read 1', 'close write 2', 'open read 1', 'open write 2']);
    expect(pool.sessions()).toBe(0);
  });

  test('closes an idle session of the other kind before it goes over the limit', async () => {
    const { pool, events, use } = createPool(1);
    await use('read');
    await use('write');
    expect(events).toEqual(['open read 1', 'close read 1', 'open write 2']);
    expect(pool.sessions()).toBe(1);
    await pool.close();
  });

  test('serves first who came first, whatever the kind', async () => {
    const { pool, use } = createPool(1);
    const order: string[] = [];
    const kinds: Kind[] = ['read', 'write', 'read', 'read', 'write'];
    await Promise.all(kinds.map((kind, i) => use(kind).then(() => order.push(`${kind} ${i}`))));
    expect(order).toEqual(['read 0', 'write 1', 'read 2', 'read 3', 'write 4']);
    await pool.close();
  });

  test('closes what was idle for its time', async () => {
    const { pool, use } = createPool(3, 30);
    await Promise.all([use('read', 5), use('read', 5), use('write', 5)]);
    expect(pool.sessions()).toBe(3);
    await until(() => pool.sessions() === 0);
    expect((await use('read')).id).toBe(4);
    await pool.close();
  });

  test('lets a caller leave the queue with the reason of its signal', async () => {
    const { pool, use } = createPool(1);
    const busy = use('read', 30);
    const reason = new Error('gone');
    const controller = new AbortController();
    const waiting = use('read', 1, controller.signal);
    controller.abort(reason);
    expect(await waiting.catch((error: unknown) => error)).toBe(reason);
    await busy;
    expect((await use('read')).id).toBe(1);
    await pool.close();
  });

  test('forgets a session that is no longer usable', async () => {
    const { pool, use } = createPool(1);
    const broken = await use('read');
    broken.usable = false;
    expect((await use('read')).id).toBe(2);
    await pool.use('read', forever, async (session) => (session.usable = false));
    await until(() => pool.sessions() === 0);
    expect(pool.sessions()).toBe(0);
    await pool.close();
  });

  test('hands a failure to open to the one who asked, and goes on', async () => {
    let attempts = 0;
    const pool = createSessionPool<Kind, Fake>({
      limit: 1,
      idle_ms: 1_000,
      open: async (kind) => {
        if (attempts++ === 0) throw new Error('not now');
        return { id: attempts, kind, usable: true, close: async () => undefined };
      },
    });
    const calls = [0, 1].map(() =>
      pool.use('read', forever, async (session) => session.id).catch((error: Error) => error.message),
    );
    expect(await Promise.all(calls)).toEqual(['not now', 2]);
    await pool.close();
  });

  test('closes after whoever already waits was served', async () => {
    const { pool, use } = createPool(1);
    const calls = [use('read', 10), use('write', 10)];
    const closed = pool.close();
    expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(['read', 'write']);
    await closed;
    expect(pool.sessions()).toBe(0);
    expect(await use('read').catch((error: unknown) => error)).toMatchObject({ code: 'unavailable' });
  });

  test('short pieces of work share a session that is idle or shared, never one that somebody has for himself', async () => {
    const { pool, use } = createPool(2);
    const yes = () => true;
    const limits = { sessions: 2, depth: 3 };
    expect(pool.share('read', limits, yes)).toBeNull();
    const first = await use('read');
    expect(pool.share('read', limits, () => false)).toBeNull();
    expect(pool.share('write', limits, yes)).toBeNull();
    expect(pool.share('read', { ...limits, sessions: 0 }, yes)).toBeNull();
    expect(pool.share('read', limits, yes)).toBe(first);
    // One more session may be opened: that is the business of whoever wants one for himself.
    expect(pool.share('read', limits, yes)).toBeNull();
    const alone = use('read', 20);
    await until(() => pool.sessions() === 2);
    expect([pool.share('read', limits, yes), pool.share('read', limits, yes)]).toEqual([first, first]);
    expect(pool.share('read', limits, yes)).toBeNull();
    pool.unshare(first);
    expect(pool.share('read', limits, yes)).toBe(first);
    await alone;
    for (let n = 0; n < 3; n++) pool.unshare(first);
    await pool.close();
    expect(pool.sessions()).toBe(0);
  });

  test('once there are fewer sessions, what is shared beyond them is left alone until it is idle', async () => {
    const { pool, use } = createPool(3);
    const yes = () => true;
    await Promise.all([use('read', 5), use('read', 5), use('read', 5)]);
    const three = [1, 2, 3].map(() => pool.share('read', { sessions: 3, depth: 8 }, yes));
    expect(new Set(three).size).toBe(3);
    const fewer = { sessions: 1, depth: 8 };
    expect([pool.share('read', fewer, yes), pool.share('read', fewer, yes)]).toEqual([three[0] ?? null, three[0] ?? null]);
    expect(pool.share('read', { ...fewer, sessions: 0 }, yes)).toBeNull();
    for (const session of [...three, three[0], three[0]]) if (session) pool.unshare(session);
    await pool.close();
    expect(pool.sessions()).toBe(0);
  });

  test('a session that is idle and does not fit yet is better than one more piece on one that is shared', async () => {
    const { pool, use } = createPool(2);
    const limits = { sessions: 2, depth: 8 };
    const [first, second] = await Promise.all([use('read', 5), use('read', 5)]);
    const fits = (session: Fake) => session === first;
    expect(pool.share('read', limits, fits)).toBe(first);
    expect(pool.share('read', limits, fits)).toBeNull();
    expect(await use('read')).toBe(second);
    const alone = use('read', 20);
    expect(pool.share('read', limits, fits)).toBe(first);
    await alone;
    for (let n = 0; n < 2; n++) pool.unshare(first);
    await pool.close();
  });

  test('who waits for a session of his own comes before new pieces of shared work', async () => {
    const { pool, use } = createPool(1);
    const limits = { sessions: 1, depth: 8 };
    const session = await use('read');
    expect(pool.share('read', limits, () => true)).toBe(session);
    const alone = use('read');
    expect(pool.share('read', limits, () => true)).toBeNull();
    pool.unshare(session);
    expect(await alone).toBe(session);
    expect(pool.share('read', limits, () => true)).toBe(session);
    const closed = pool.close();
    expect(pool.share('read', limits, () => true)).toBeNull();
    pool.unshare(session);
    await closed;
  });
});
