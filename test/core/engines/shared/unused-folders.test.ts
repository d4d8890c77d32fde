import { afterAll, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noteUse, removeUnused, UNUSED_MS } from '#core/engines/shared/files/unused-folders.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-unused-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const make = (name: string): string => {
  const folder = join(root, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'large.bin'), 'x');
  return folder;
};
const age = (path: string, ms: number) => utimesSync(path, new Date(), new Date(Date.now() - ms));

test('folders that were not used for a week go, with what was left of earlier ones; what is used stays', () => {
  const [used, old, unmarked, young] = ['used', 'old', 'unmarked', 'young'].map(make) as [string, string, string, string];
  for (const folder of [used, old]) noteUse(folder);
  for (const folder of [used, old]) age(join(folder, 'used'), 2 * UNUSED_MS);
  for (const folder of [used, old, unmarked]) age(folder, 2 * UNUSED_MS);
  age(make('half.gone'), 2 * UNUSED_MS);
  writeFileSync(join(root, 'file'), '');
  // It is used again, and whoever uses one cleans up.
  noteUse(used);
  expect(readdirSync(root).toSorted()).toEqual(['file', 'used', 'young']);
  expect(existsSync(join(young, 'large.bin'))).toBe(true);
  age(young, 2 * UNUSED_MS);
  removeUnused(root);
  expect(readdirSync(root).toSorted()).toEqual(['file', 'used']);
  removeUnused(join(root, 'nowhere'));
});
