import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { type SnapshotFile, snapshotFile } from '#snapshots/file.ts';
import { SNAPSHOT_FORMAT, type Snapshot } from '#snapshots/format.ts';

const folders: string[] = [];
let path = '';
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'snapshot-file-'));
  folders.push(folder);
  path = join(folder, 'snapshot.json');
});
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

const snapshotOf = (version: number): Snapshot => ({
  version,
  checksum: `sha256:${String(version).repeat(64)}`,
  created_at: '2026-01-01T00:00:00.000Z',
  content: { format: SNAPSHOT_FORMAT, connections: [], tools: [], resources: [], prompts: [] } as unknown as Snapshot['content'],
});

const keep = async (file: SnapshotFile, snapshot: Snapshot) => (await file.draft(JSON.stringify(snapshot))).keep();

describe('a host’s snapshot file', () => {
  test('is empty at first', async () => {
    expect(await snapshotFile(path).read()).toEqual({ snapshot: null, stopped: false, fault: null });
  });

  test('gives back what was written last, and leaves no draft behind', async () => {
    const file = snapshotFile(path);
    await keep(file, snapshotOf(1));
    await keep(file, snapshotOf(2));
    expect(await file.read()).toEqual({ snapshot: snapshotOf(2), stopped: false, fault: null });
    expect((await readdir(join(path, '..'))).sort()).toEqual(['snapshot.json', 'snapshot.json.previous']);
  });

  test('a draft that is not kept leaves what was there', async () => {
    const file = snapshotFile(path);
    await keep(file, snapshotOf(1));
    const draft = await file.draft(JSON.stringify(snapshotOf(2)));
    expect(await snapshotFile(path).read()).toMatchObject({ snapshot: { version: 1 }, fault: null });
    await draft.discard();
    expect(await readdir(join(path, '..'))).toEqual(['snapshot.json']);
  });

  test.each([
    ['a changed byte', (text: string) => text.replace('"version":2', '"version":3')],
    ['half a file', (text: string) => text.slice(0, text.length / 2)],
    ['an empty file', () => ''],
    ['another format', () => '{}'],
  ])('%s is passed over for the one before it', async (_, damage) => {
    const file = snapshotFile(path);
    await keep(file, snapshotOf(1));
    await keep(file, snapshotOf(2));
    await writeFile(path, damage(await readFile(path, 'utf8')));
    expect(await file.read()).toMatchObject({ snapshot: { version: 1 }, fault: expect.stringContaining('damaged') });
    await keep(file, snapshotOf(4));
    await writeFile(path, '');
    expect(await file.read()).toMatchObject({ snapshot: { version: 1 } });
  });

  test('a damaged file without an earlier one is no snapshot', async () => {
    await writeFile(path, 'rubbish');
    expect(await snapshotFile(path).read()).toMatchObject({ snapshot: null, fault: expect.stringContaining('damaged') });
  });

  test('a lost file is replaced by the one before it', async () => {
    const file = snapshotFile(path);
    await keep(file, snapshotOf(1));
    await keep(file, snapshotOf(2));
    await rm(path);
    expect(await file.read()).toMatchObject({ snapshot: { version: 1 }, fault: null });
  });

  test('a draft of a host that was killed goes in time, one that is being written stays', async () => {
    const file = snapshotFile(path);
    await keep(file, snapshotOf(1));
    const [old, fresh] = [`${path}.111.new`, `${path}.222.new`];
    for (const draft of [old, fresh]) await writeFile(draft, 'half');
    const yesterday = new Date(Date.now() - 86_400_000);
    await utimes(old, yesterday, yesterday);
    expect(await file.read()).toMatchObject({ snapshot: { version: 1 }, fault: null });
    expect((await readdir(dirname(path))).filter((name) => name.endsWith('.new'))).toEqual([basename(fresh)]);
  });

  test('remembers that the server was stopped', async () => {
    const file = snapshotFile(path);
    await keep(file, snapshotOf(1));
    await file.setStopped(true);
    expect(await snapshotFile(path).read()).toMatchObject({ stopped: true, snapshot: { version: 1 } });
    await file.setStopped(false);
    expect((await file.read()).stopped).toBe(false);
  });
});
