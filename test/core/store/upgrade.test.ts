import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { openStore, openStoreAsIs } from '#core/store/open.ts';
import type { Store } from '#core/store/store.ts';
import { upgradeSnapshots } from '#core/store/upgrade.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { type SnapshotContent, WHOLE_FORMAT } from '#snapshots/format/format.ts';
import { parseTree, toBlobs, toTree } from '#snapshots/format/tree.ts';
import { promptOf, snapshotOf } from '#test/mcp-host/support.ts';
import { emptyMetadata } from '#test/support/metadata.ts';
import { storeOf } from '#test/support/stores.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';

const PROMPTS = Array.from({ length: 40 }, (_, n) => promptOf(`prompt_${n}`, 'Hello'));
/** Each version changes the server, and one prompt comes and goes. */
const contentOf = (version: number): SnapshotContent =>
  snapshotOf(version, {
    server: { server_name: `Version ${version}` },
    prompts: PROMPTS.filter((_, n) => n > 0 || version % 3 === 1),
  }).content;
const VERSIONS = [3, 4, 5, 6, 7];

async function leaveFirstEdition({ db, tables }: Store): Promise<void> {
  await db.delete(tables.blobs);
  await db.delete(tables.snapshots);
  for (const version of VERSIONS) {
    const content = canonical({ ...contentOf(version), format: WHOLE_FORMAT });
    const rest = {
      counts: { connections: 0, tools: 0, resources: 0, prompts: 0 },
      actor: { type: 'system', id: null, name: 'system' },
      created_at: '',
    };
    await db.insert(tables.snapshots).values({ version, checksum: 'sha256:old', content, note: null, ...rest });
  }
}

/** Every version opens, and each entity came with the version that its last stay began with. */
async function checkUpgraded({ db, tables }: Store): Promise<void> {
  const rows = await db.select().from(tables.blobs);
  const texts = new Map(rows.map(({ hash, text }) => [hash, text]));
  const since = new Map(rows.map((row) => [row.hash, row.since]));
  const named = new Set<string>();
  for (const { version, content, checksum } of await db.select().from(tables.snapshots)) {
    const { leaves } = parseTree(content);
    const parts = toBlobs(contentOf(version));
    expect([checksum, content]).toEqual([toTree(parts).checksum, toTree(parts).text]);
    expect(parts.map(({ hash }) => texts.get(hash))).toEqual(parts.map(({ text }) => text));
    for (const { hash } of leaves) named.add(hash);
  }
  expect([...texts.keys()].toSorted()).toEqual([...named].toSorted());
  const hashOf = (n: number) =>
    toBlobs(contentOf(4)).find(({ kind, name }) => kind === 'prompt' && name === `prompt_${n}`)?.hash ?? '';
  expect([since.get(hashOf(0)), since.get(hashOf(1))]).toEqual([7, 3]);
}

describe.each(['sqlite', 'postgresql'] as const)('snapshots of the first edition (%s)', (dialect) => {
  const of = storeOf(dialect);
  test.skipIf(!of.can)('become trees, once', async () => {
    await leaveFirstEdition(of.store);
    const said: unknown[] = [];
    const log = { info: (...line: unknown[]) => void said.push(line) };
    await upgradeSnapshots(of.store, log);
    await checkUpgraded(of.store);
    const lines = [
      ['converting deployed versions of the first edition', { versions: VERSIONS.length }],
      ['deployed versions converted', { versions: VERSIONS.length }],
    ];
    expect(said).toEqual(lines);
    await upgradeSnapshots(of.store, log);
    await checkUpgraded(of.store);
    expect(said).toEqual(lines);
  });
  test.skipIf(!of.can)('an upgrade that was interrupted goes on', async () => {
    await leaveFirstEdition(of.store);
    const { snapshots } = of.store.tables;
    const later = await of.store.db.select().from(snapshots);
    for (const { version } of later.filter((one) => one.version > 4)) {
      await of.store.db.delete(snapshots).where(eq(snapshots.version, version));
    }
    await upgradeSnapshots(of.store);
    for (const row of later.filter((one) => one.version > 4)) await of.store.db.insert(snapshots).values(row);
    await upgradeSnapshots(of.store);
    await checkUpgraded(of.store);
  });
});

describe.skipIf(!reachable.postgres)('three servers that start at once', () => {
  const ends: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const end of ends) await end();
  });
  test('upgrade one database together', async () => {
    const database = await testDatabase('postgresql');
    ends.push(() => database.drop());
    const first = await openStore(database.url);
    for (let round = 0; round < 3; round++) {
      await leaveFirstEdition(first);
      const stores = await Promise.all([1, 2, 3].map(() => openStore(database.url)));
      await checkUpgraded(first);
      for (const store of stores) await store.close();
    }
    await first.close();
  }, 60_000);
});

// Otherwise every app of every test runs the migrations again, which costs more than most tests.
test('the empty store that tests start with has been migrated', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-empty-'));
  const metadata = await emptyMetadata(directory, 'sqlite');
  const { store, migrations } = await openStoreAsIs(metadata.url);
  expect(migrations).toMatchObject({ pending: 0, unknown: 0 });
  expect(migrations.done).toBeGreaterThan(0);
  await store.close();
  await metadata.release();
  rmSync(directory, { recursive: true });
});
