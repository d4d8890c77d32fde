import { afterEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { testApp } from '#test/support/app.ts';
import { until } from '#test/support/until.ts';

/** The embedded database refuses writes by triggers of its own dialect. */
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

describe('a metadata database that answers and accepts no writes', () => {
  test('is not ready, says why, lets in who is signed in, and heals', async () => {
    const other = await testApp();
    ends.push(() => other.close());
    await other.signIn();
    const headers = { 'x-service-token': other.app.env.SVC_AGENT_SERVICE_TOKEN };
    const ready = () => other.request('GET', '/readyz', { headers });
    const { token } = await other.call('agent_tokens.create', { name: 'reader', duration_minutes: 600, scopes: ['read'] });
    const { db } = other.app.store;
    const refused = ['meta', 'sessions', 'agent_tokens'];
    for (const table of refused) {
      for (const event of ['insert', 'update']) {
        await db.run(
          sql.raw(
            `create trigger refuse_${event}_${table} before ${event} on ${table} begin select raise(abort, 'no room'); end`,
          ),
        );
      }
    }
    expect(await ready()).toMatchObject({
      status: 503,
      body: { reasons: expect.arrayContaining(['The metadata database accepts no writes; the log has the reason.']) },
    });
    expect(other.log.filter(({ message }) => message.includes('accepts no writes'))).toEqual([
      expect.objectContaining({ fields: expect.objectContaining({ reason: expect.stringContaining('no room') }) }),
    ]);
    expect(JSON.stringify(other.log)).not.toContain('....');
    other.advance(5 * 60_000);
    expect((await other.send('auth.me')).status).toBe(200);
    const bearer = await other.send('tools.list', {}, { anonymous: true, headers: { authorization: `Bearer ${token}` } });
    expect(bearer.status).toBe(200);
    for (const table of refused)
      for (const event of ['insert', 'update']) await db.run(sql.raw(`drop trigger refuse_${event}_${table}`));
    await until(async () => (await ready()).status === 200);
  });
});
