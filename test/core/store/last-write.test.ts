import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastWriteOf } from '#core/store/last-write.ts';
import { writeMeta } from '#core/store/meta.ts';
import { openStore } from '#core/store/open.ts';
import { openMemoryStore } from '#core/proposals/memory-store.ts';

test('the last write changes with each write of any program, and is not known shortly after one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-written-'));
  const file = join(folder, 'sluice.sqlite');
  const settle = (seconds: number) => [file, `${file}-wal`].forEach((path) => utimesSync(path, seconds, seconds));
  const store = await openStore(`file:${file}`);
  const other = await openStore(`file:${file}`);
  try {
    for (const [n, writer] of [store, other, store].entries()) {
      settle(1_000 + n);
      const before = store.lastWrite();
      expect(before).not.toBeNull();
      expect(store.lastWrite()).toBe(before);
      await writer.write((tx) => writeMeta(writer, tx, 'key', `value ${n}`));
      // A write within the same step of the clock would have the same time.
      expect(store.lastWrite()).toBeNull();
    }
    settle(Date.now() / 1_000 + 60);
    expect(store.lastWrite()).toBeNull();
  } finally {
    await store.close();
    await other.close();
    rmSync(folder, { recursive: true });
  }
});

test('a database without a file has no last write', async () => {
  const store = await openMemoryStore();
  expect(store.lastWrite()).toBeNull();
  expect(lastWriteOf(':memory:')).toBeNull();
  await store.close();
});
