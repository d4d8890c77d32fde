import { afterEach, beforeEach, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFileLock } from '#core/engines/duckdb/files/lock.ts';

/** Shorter than the time after which a lock is renewed. */
const STALE_MS = 200;
let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-lock-'));
  path = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Renewed by a machine whose clock is behind by so much. */
const renew = (behind_ms: number) => {
  const time = new Date(Date.now() - behind_ms);
  utimesSync(path, time, time);
};

test('a lock that is renewed by a clock an hour behind stays its owner’s', async () => {
  const held = createFileLock(STALE_MS).take(path);
  const other = createFileLock(STALE_MS);
  for (let n = 0; n < 8; n++) {
    renew(3_600_000 - n);
    expect(other.take(path)).toBeNull();
    await Bun.sleep(STALE_MS / 4);
  }
  held?.release();
  const next = other.take(path);
  expect(next).not.toBeNull();
  next?.release();
  expect(readdirSync(folder)).toEqual([]);
});

test('a lock that nobody renews is taken, and whoever had it releases and renews nothing of the next owner', async () => {
  const lost = createFileLock(STALE_MS).take(path);
  renew(-3_600_000);
  const other = createFileLock(STALE_MS);
  expect(other.take(path)).toBeNull();
  await Bun.sleep(STALE_MS + 50);
  const held = other.take(path);
  expect(held).not.toBeNull();
  lost?.release();
  expect(existsSync(path)).toBe(true);
  expect(createFileLock(STALE_MS).take(path)).toBeNull();
  held?.release();
  expect(readdirSync(folder)).toEqual([]);
});

test('a lock without an owner, of a program that was killed as it took it, is taken in time', async () => {
  mkdirSync(path);
  const other = createFileLock(STALE_MS);
  expect(other.take(path)).toBeNull();
  await Bun.sleep(STALE_MS + 50);
  expect(other.take(path)).not.toBeNull();
});

test('of many that find it stale at once one has it', async () => {
  createFileLock(STALE_MS).take(path);
  const others = Array.from({ length: 20 }, () => createFileLock(STALE_MS));
  expect(others.map((lock) => lock.take(path))).toEqual(others.map(() => null));
  await Bun.sleep(STALE_MS + 50);
  expect(others.filter((lock) => lock.take(path) !== null)).toHaveLength(1);
});
