import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeFileAtomic } from '#core/lib/durable-file.ts';
import { listFile } from '#mcp-host/auth/list-file.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-files-'));
  path = join(folder, 'list.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('programs with the same process id write a file at once: it is whole, and no draft stays', async () => {
  const texts = Array.from({ length: 20 }, (_, n) => String(n).repeat(50_000));
  await Promise.all(texts.map((text) => writeFileAtomic(path, text)));
  expect(texts).toContain(readFileSync(path, 'utf8'));
  expect(readdirSync(folder)).toEqual(['list.json']);
});

test('a draft of a killed host goes when its list is read, one that is being written stays', async () => {
  const [old, fresh] = ['list.json.1.new', 'list.json.2.new'];
  for (const name of [old, fresh]) writeFileSync(join(folder, name), '[');
  const yesterday = new Date(Date.now() - 86_400_000);
  utimesSync(join(folder, old), yesterday, yesterday);
  const list = listFile(path, (value: unknown): value is number[] => Array.isArray(value), 'a list');
  expect(await list.read()).toBeNull();
  expect(readdirSync(folder)).toEqual([fresh]);
});
