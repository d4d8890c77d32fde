import { afterEach, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { eq, gt, sql } from 'drizzle-orm';
import { compactVerify, importJWK } from 'jose';
import type { AuditRow } from '#core/audit/chain.ts';
import { hashOf } from '#core/audit/chain.ts';
import { writeAudit } from '#core/audit/writer.ts';
import type { AuditEntry } from '#core/contract/observe/audit.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable } from '#test/support/databases.ts';
import { namedStores } from '#test/support/metadata.ts';

let t: TestApp;
afterEach(() => t.close());

const start = async (options?: Parameters<typeof testApp>[2]) => {
  t = await testApp({}, undefined, options);
  await t.signIn();
};
/** Ten changes, and the heads that left the server after each five of them. */
async function tenEntries(): Promise<string[]> {
  const heads: string[] = [];
  for (let n = 1; n <= 10; n++) {
    await t.call('config.update', { server_name: `Shop ${n}` });
    if (n % 5 !== 0) continue;
    t.advance(60_000);
    await writeAudit(t.app);
    heads.push((await t.call('audit.heads', {})).items[0]?.jws ?? '');
  }
  return heads;
}
const rows = () => t.app.store.db.select().from(t.app.store.tables.audit_entries).orderBy(t.app.store.tables.audit_entries.seq);
const set = (seq: number, values: Partial<AuditRow>) => {
  const { audit_entries } = t.app.store.tables;
  return t.app.store.write((tx) => tx.update(audit_entries).set(values).where(eq(audit_entries.seq, seq)));
};
const verify = (heads: string[] = []) => t.call('audit.verify', { heads });
/** What the owner of the database can do: give every entry from one on the hash that it should have. */
async function rehash(from: number): Promise<void> {
  let previous = (await rows()).find(({ seq }) => seq === from - 1)?.hash ?? '0'.repeat(64);
  for (const row of (await rows()).filter(({ seq }) => seq >= from)) {
    previous = hashOf(row, previous);
    await set(row.seq, { hash: previous });
  }
}
const deleteHeads = () => t.app.store.write((tx) => tx.delete(t.app.store.tables.audit_heads));

if (!reachable.postgres) test.skip('kept in PostgreSQL (not reachable)', () => undefined);

describe.each([...namedStores])('kept in %s', (metadata) => {
  test('an untouched audit log is verified, alone and with heads from elsewhere', async () => {
    await start({ metadata });
    const heads = await tenEntries();
    const report = await verify(heads);
    expect(report).toMatchObject({ ok: true, first_seq: 1, pruned: 0, heads: 2 });
    expect(report.entries).toBe(report.last_seq ?? 0);
    expect(report.first_bad).toBeUndefined();
    expect(await verify()).toMatchObject({ ok: true });
  });

  test('an entry with a changed column, whichever it is, is found without any head', async () => {
    await start({ metadata });
    await tenEntries();
    await deleteHeads();
    const row = (await rows()).find(({ seq }) => seq === 6);
    if (row === undefined) throw new Error('no row');
    const columns = Object.keys(row).filter((name) => !['seq', 'pruned_by'].includes(name)) as (keyof AuditRow)[];
    expect(columns).toHaveLength(14);
    for (const column of columns) {
      await set(6, { [column]: column === 'kind' ? 'call' : column === 'detail' ? '{"x":1}' : `${row[column]}x` });
      expect([column, (await verify()).first_bad]).toEqual([column, 6]);
      await set(6, { [column]: row[column] });
    }
    await set(6, { detail: 'no JSON' });
    expect(await verify()).toMatchObject({ ok: false, first_bad: 6 });
    await set(6, { detail: row.detail });
    expect(await verify()).toMatchObject({ ok: true });
  });

  test('an entry that was deleted, and two that changed places, are found without any head', async () => {
    await start({ metadata });
    await tenEntries();
    await deleteHeads();
    const { audit_entries } = t.app.store.tables;
    const all = await rows();
    const [fifth, sixth] = [all[4], all[5]];
    if (fifth === undefined || sixth === undefined) throw new Error('no rows');
    const { seq: _, ...five } = fifth;
    const { seq: __, ...six } = sixth;
    await set(5, six);
    await set(6, five);
    expect(await verify()).toMatchObject({ ok: false, first_bad: 5 });
    await set(5, five);
    await set(6, six);
    await t.app.store.write((tx) => tx.delete(audit_entries).where(eq(audit_entries.seq, 5)));
    const report = await verify();
    expect(report).toMatchObject({ ok: false, first_bad: 5 });
    expect(report.reason).toBe('Entry 5 is missing: the next one is 6.');
  });

  test('entries cut off at the end are found by a head from elsewhere, and by nothing here', async () => {
    await start({ metadata });
    const heads = await tenEntries();
    const last = (await rows()).at(-1)?.seq ?? 0;
    const { audit_entries } = t.app.store.tables;
    await t.app.store.write((tx) => tx.delete(audit_entries).where(gt(audit_entries.seq, last - 2)));
    expect(await verify()).toMatchObject({ ok: false, first_bad: last - 1 });
    await deleteHeads();
    expect(await verify()).toMatchObject({ ok: true });
    const report = await verify(heads);
    expect(report).toMatchObject({ ok: false, first_bad: last - 1 });
    expect(report.reason).toContain('a signed head says that they were written');
    // What is written afterwards takes their numbers, but not their hashes.
    await t.call('config.update', { server_name: 'After' });
    await t.call('config.update', { server_name: 'After it' });
    expect(await verify(heads)).toMatchObject({ ok: false, first_bad: last });
  });

  test('a log that was rewritten with right hashes is found by a head from elsewhere', async () => {
    await start({ metadata });
    const heads = await tenEntries();
    await set(4, { actor_name: 'eve' });
    await rehash(4);
    expect(await verify()).toMatchObject({ ok: false });
    await deleteHeads();
    expect(await verify()).toMatchObject({ ok: true });
    const report = await verify(heads);
    expect(report).toMatchObject({ ok: false });
    expect(report.reason).toContain('it or an earlier one was rewritten');
    expect(report.first_bad).toBeGreaterThanOrEqual(4);
  });

  test('a head signed with a key that somebody put into the database is refused', async () => {
    await start({ metadata });
    await tenEntries();
    const other = await testApp();
    try {
      await other.signIn();
      await other.call('config.update', { server_name: 'Other' });
      await other.call('audit.list', {});
      const foreign = (await other.call('audit.heads', {})).items[0];
      if (foreign === undefined) throw new Error('no head');
      const [key] = await other.app.store.db.select().from(other.app.store.tables.audit_keys);
      if (key === undefined) throw new Error('no key');
      const { audit_keys, audit_heads } = t.app.store.tables;
      await t.app.store.write((tx) => tx.insert(audit_keys).values(key));
      expect(await verify([foreign.jws])).toMatchObject({ ok: false });
      await t.app.store.write((tx) => tx.insert(audit_heads).values({ ...foreign, id: 'foreign' }));
      const report = await verify();
      expect(report.reason).toContain('is not one of this installation');
    } finally {
      await other.close();
    }
  });
});

test('entries can be verified from an export and the public keys alone, without Sluice', async () => {
  await start();
  const heads = await tenEntries();
  const { body } = await t.request('GET', '/api/v1/audit/export');
  const entries = String(body['text'])
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditEntry);
  const sorted = (value: unknown): unknown =>
    typeof value !== 'object' || value === null
      ? value
      : Array.isArray(value)
        ? value.map(sorted)
        : Object.fromEntries(
            Object.entries(value)
              .toSorted(([a], [b]) => (a < b ? -1 : 1))
              .map(([name, item]) => [name, sorted(item)]),
          );
  let previous = '0'.repeat(64);
  for (const { hash, ...entry } of entries) {
    expect(entry.previous).toBe(previous);
    expect(
      createHash('sha256')
        .update(JSON.stringify(sorted(entry)))
        .digest('hex'),
    ).toBe(hash);
    previous = hash;
  }
  const { keys } = await t.call('audit.keys', {});
  expect(keys).toHaveLength(1);
  expect(Object.keys(keys[0] ?? {})).not.toContain('d');
  const { payload } = await compactVerify(heads[1] ?? '', await importJWK(keys[0] ?? {}, 'ES256'));
  const head = JSON.parse(new TextDecoder().decode(payload)) as { seq: number; hash: string };
  expect(entries.find(({ seq }) => seq === head.seq)?.hash).toBe(head.hash);
});

test('the private part of the audit key is sealed, and no answer contains it', async () => {
  await start();
  await tenEntries();
  const [{ key } = { key: '' }] = await t.app.store.db
    .select({ key: sql<string>`private_key` })
    .from(t.app.store.tables.audit_keys);
  expect(key).toMatch(/^\{"\$sealed":"v1\./);
  for (const name of ['audit.keys', 'audit.heads', 'audit.list'] as const)
    expect(JSON.stringify(await t.call(name, {}))).not.toMatch(/\$sealed|"d":/);
});
