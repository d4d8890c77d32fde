import { afterEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { pruneAudit } from '#core/audit/prune.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';

const DAY_MS = 24 * 3_600_000;

let t: TestApp;
afterEach(() => t.close());
/** A session ends within a day. */
const signIn = () => t.signIn();
const start = async (options?: Parameters<typeof testApp>[2]) => {
  t = await testApp({}, undefined, options);
  await signIn();
};
const setting = (server_name: string) => t.call('config.update', { server_name });
const verify = (heads: string[] = []) => t.call('audit.verify', { heads });
const seqs = async () => (await t.call('audit.list', { after: 0, limit: 500 })).items.map(({ seq }) => seq);
const heads = async () => (await t.call('audit.heads', { limit: 500 })).items;

describe.each([...namedStores])('kept in %s', (metadata) => {
  test('entries older than their kind is kept go, a signed head says so, and the rest is verified', async () => {
    await start({ metadata });
    await setting('First');
    await t.call('audit.list', {});
    const before = (await heads()).map(({ jws }) => jws);
    t.advance(366 * DAY_MS);
    await signIn();
    await setting('Second');
    const kept = await seqs();
    await pruneAudit(t.app);
    const left = await seqs();
    expect(left.length).toBeGreaterThan(0);
    expect(left[0]).toBeGreaterThan(kept[0] ?? 0);
    const start_head = (await heads()).find(({ type }) => type === 'start');
    expect(start_head?.seq).toBe((left[0] ?? 0) - 1);
    expect(await verify(before)).toMatchObject({ ok: true, first_seq: left[0], pruned: 0 });
    // The chain goes on from what is left.
    await setting('Third');
    expect(await verify()).toMatchObject({ ok: true });
    const { audit_heads } = t.app.store.tables;
    await t.app.store.write((tx) => tx.delete(audit_heads).where(eq(audit_heads.type, 'start')));
    expect(await verify()).toMatchObject({ ok: false, first_bad: 1 });
  });

  test('entries between longer kept ones lose their contents, and only those that a statement names', async () => {
    await start({ metadata });
    await t.call('config.update', { audit_retention_days: { sign_in: 30, setting: 400 } });
    expect((await t.call('config.get', {})).audit_retention_days).toMatchObject({ sign_in: 30, setting: 400, call: 365 });
    for (const name of ['A', 'B', 'C']) {
      await t.call('auth.logout', {});
      await signIn();
      await setting(name);
    }
    const before = await seqs();
    t.advance(31 * DAY_MS);
    await signIn();
    await setting('D');
    await pruneAudit(t.app);
    const report = await verify();
    expect(report).toMatchObject({ ok: true });
    expect(report.pruned).toBeGreaterThanOrEqual(6);
    const { items } = await t.call('audit.list', { after: 0, kind: 'sign_in', limit: 500 });
    expect(items.every(({ at }) => Date.parse(at) >= t.app.clock().getTime() - DAY_MS)).toBe(true);
    expect((await t.call('audit.list', { after: 0, kind: 'setting', limit: 500 })).items.length).toBeGreaterThanOrEqual(4);
    const { audit_entries, audit_heads } = t.app.store.tables;
    const db = t.app.store;
    const [blank] = await db.db.select().from(audit_entries).where(eq(audit_entries.kind, 'sign_in')).limit(1);
    const rows = await db.db.select().from(audit_entries);
    const whole = rows.find(({ kind, pruned_by, seq }) => kind === 'setting' && pruned_by === null && seq > 2);
    if (whole === undefined || blank === undefined) throw new Error('no rows');
    const pruned_by = rows.find((row) => row.pruned_by !== null)?.pruned_by ?? null;
    // Somebody hides an entry among the pruned ones.
    await db.write((tx) => tx.update(audit_entries).set({ pruned_by, detail: null }).where(eq(audit_entries.seq, whole.seq)));
    expect(await verify()).toMatchObject({ ok: false });
    await db.write((tx) => tx.update(audit_entries).set(whole).where(eq(audit_entries.seq, whole.seq)));
    expect(await verify()).toMatchObject({ ok: true });
    // When the oldest go later, what is left of the statement is signed anew.
    t.advance(380 * DAY_MS);
    await signIn();
    await setting('E');
    await pruneAudit(t.app);
    expect(await verify()).toMatchObject({ ok: true });
    expect((await seqs())[0]).toBeGreaterThan(before[0] ?? 0);
    const statement = (await heads()).find(({ type }) => type === 'pruned');
    if (statement !== undefined) {
      await db.write((tx) => tx.delete(audit_heads).where(eq(audit_heads.id, statement.id)));
      expect(await verify()).toMatchObject({ ok: false });
    }
  });
});

test('the newest entry stays however old it is, so that the next one has one before it', async () => {
  await start();
  await setting('Only');
  const last = (await seqs()).at(-1) ?? 0;
  t.advance(4_000 * DAY_MS);
  await pruneAudit(t.app);
  await signIn();
  const entries = (await t.call('audit.list', { after: 0 })).items;
  expect(entries[0]?.seq).toBe(last);
  expect(entries[1]?.previous).toBe(entries[0]?.hash);
  expect(await verify()).toMatchObject({ ok: true });
});

test('a retention outside one day to ten years is refused', async () => {
  await start();
  for (const days of [0, 3_651, 1.5])
    expect((await t.send('config.update', { audit_retention_days: { call: days } })).status).toBe(422);
  expect((await t.send('config.update', { audit_retention_days: { calls: 5 } as object })).status).toBe(422);
});
