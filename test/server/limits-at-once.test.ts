import { afterAll, beforeAll, expect, test } from 'bun:test';
import { MOST_COMMENTS } from '#core/contract/proposals.ts';
import { reachable } from '#test/support/databases.ts';
import { describeOnce } from '#test/support/metadata.ts';
import { ordersTool, type ProposingShop, proposingShop } from './proposals/shop.ts';

const AT_ONCE = 6;
/** Registered clients. */
const MOST_CLIENTS = 1_000;

/** Embedded, writers take turns anyway. */
describeOnce(reachable.postgres)('of several at once no more are stored than there may be', () => {
  let shop: ProposingShop;
  beforeAll(async () => {
    shop = await proposingShop({ metadata: 'postgresql' });
  });
  afterAll(() => shop.t.close());
  const statuses = async (send: (n: number) => Promise<{ readonly status: number }>) =>
    (await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => send(n)))).map(({ status }) => status).toSorted((a, b) => a - b);

  test('comments of a proposal', async () => {
    const { t } = shop;
    const agent = shop.as(await shop.token());
    const { body } = await agent.send('tools.create', ordersTool(shop.connection_id));
    const id = String(Reflect.get(body, 'proposal_id'));
    const { proposal_comments: table } = t.app.store.tables;
    const author = { type: 'admin', id: 'ada', name: 'ada' } as const;
    const created_at = t.app.clock().toISOString();
    const rows = Array.from({ length: MOST_COMMENTS - 1 }, () => ({
      id: t.app.ids(),
      proposal_id: id,
      author,
      text: 'x',
      created_at,
    }));
    await t.app.store.write((tx) => tx.insert(table).values(rows));
    const [stored, ...refused] = await statuses((n) => t.send('proposals.comment', { id, text: `comment ${n}` }));
    expect([stored, new Set(refused)]).toEqual([201, new Set([409])]);
    expect(await t.app.store.db.$count(table)).toBe(MOST_COMMENTS);
  });

  test('clients that register themselves', async () => {
    const { t } = shop;
    await t.call('config.update', { dynamic_registration: true });
    const { oauth_registrations: table } = t.app.store.tables;
    const now = t.app.clock().toISOString();
    const in_use = Array.from({ length: MOST_CLIENTS - 1 }, (_, n) => ({
      client_id: `reg_${n}`,
      name: 'Client',
      redirect_uris: ['https://a.example.com/cb'],
      network: `192.0.2.${n % 200}`,
      created_at: now,
      last_used_at: now,
    }));
    await t.app.store.write((tx) => tx.insert(table).values(in_use));
    const body = { redirect_uris: ['https://a.example.com/cb'] };
    // One that nobody uses makes room for the next.
    expect(new Set(await statuses(() => t.request('POST', '/oauth/register', { anonymous: true, body })))).toEqual(
      new Set([201]),
    );
    expect(await t.app.store.db.$count(table)).toBe(MOST_CLIENTS);
  });
});
