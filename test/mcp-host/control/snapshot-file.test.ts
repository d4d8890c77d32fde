import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Lacking } from '#mcp-host/control/apply-news.ts';
import { type SnapshotFile, snapshotFile } from '#mcp-host/control/snapshot-file.ts';
import type { Snapshot, SnapshotContent } from '#snapshots/format/format.ts';
import { deltaOf, toBlobs, toContent, toTree } from '#snapshots/format/tree.ts';
import { promptOf, snapshotOf } from '#test/mcp-host/support.ts';
import { keepOnDisk } from '#test/mcp-host/snapshot-forms.ts';

const folders: string[] = [];
let path = '';
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'snapshot-file-'));
  folders.push(folder);
  path = join(folder, 'snapshot.json');
});
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

const contentOf = (version: number): SnapshotContent =>
  snapshotOf(version, { server: { server_name: `Version ${version}` }, prompts: [promptOf('same', 'Hello')] }).content;
const all = contentOf(0);
/** Prompts have ids of their own; these are one. */
const snapshot = (version: number): Snapshot => ({ ...snapshotOf(version, { ...contentOf(version), prompts: all.prompts }) });
const keep = (file: SnapshotFile, version: number) => keepOnDisk(file, snapshot(version));
/** Keeps a version as a host that was sent what the one before lacks. */
async function keepDelta(file: SnapshotFile, from: number, to: number): Promise<void> {
  const [before, after] = [toBlobs(snapshot(from).content), toBlobs(snapshot(to).content)];
  const { added } = deltaOf(before, after);
  const { content: _, ...head } = snapshot(to);
  await (await file.draft(head, toTree(after).text, new Map(added.map(({ hash, text }) => [hash, text])), false)).keep();
}
const packs = async () => (await readdir(dirname(path))).filter((name) => name.endsWith('.pack'));

describe('a host’s snapshot file', () => {
  test('is empty at first', async () => {
    expect(await snapshotFile(path).read()).toEqual({ snapshot: null, stopped: false, fault: null });
  });

  test('gives back what was written last, and leaves no draft behind', async () => {
    const file = snapshotFile(path);
    await keep(file, 1);
    await keep(file, 2);
    const { snapshot: read, stopped, fault } = await file.read();
    expect([read?.version, read?.checksum, stopped, fault]).toEqual([2, snapshot(2).checksum, false, null]);
    expect(toContent(read?.leaves ?? [], (hash) => read?.texts.get(hash))).toEqual(snapshot(2).content);
    const names = (await readdir(dirname(path))).filter((name) => !name.endsWith('.pack'));
    expect(names.sort()).toEqual(['snapshot.json', 'snapshot.json.previous']);
  });

  test('says of a snapshot what it is called and where its texts are; the rest is its tree', async () => {
    const file = snapshotFile(path);
    const blobs = toBlobs(snapshot(1).content);
    const texts = new Map(blobs.map(({ hash, text }) => [hash, text]));
    // With everything that a host knows of it.
    const known = { ...snapshot(1), tree: toTree(blobs) };
    await (await file.draft(known, known.tree.text, texts, true)).keep();
    const [, head = '', ...tree] = (await readFile(path, 'utf8')).split('\n');
    expect(Object.keys(JSON.parse(head) as object)).toEqual(['version', 'checksum', 'created_at', 'packs']);
    expect(tree.join('\n')).toBe(toTree(blobs).text);
  });

  test('a draft that is not kept leaves what was there', async () => {
    const file = snapshotFile(path);
    await keep(file, 1);
    const blobs = toBlobs(snapshot(2).content);
    const texts = new Map(blobs.map(({ hash, text }) => [hash, text]));
    const draft = await file.draft(snapshot(2), toTree(blobs).text, texts, true);
    expect(await snapshotFile(path).read()).toMatchObject({ snapshot: { version: 1 }, fault: null });
    await draft.discard();
    expect((await readdir(dirname(path))).filter((name) => !name.endsWith('.pack'))).toEqual(['snapshot.json']);
    expect(await packs()).toHaveLength(1);
  });

  test.each([
    ['a changed byte', (text: string) => text.replace('"version":2', '"version":3')],
    ['half a file', (text: string) => text.slice(0, text.length / 2)],
    ['an empty file', () => ''],
    ['another format', () => '{}'],
  ])('%s is passed over for the one before it', async (_, damage) => {
    const file = snapshotFile(path);
    await keep(file, 1);
    await keep(file, 2);
    await writeFile(path, damage(await readFile(path, 'utf8')));
    expect(await file.read()).toMatchObject({ snapshot: { version: 1 }, fault: expect.stringContaining('damaged') });
    await keep(file, 4);
    await writeFile(path, '');
    expect(await file.read()).toMatchObject({ snapshot: { version: 1 } });
  });

  test('a damaged file without an earlier one is no snapshot', async () => {
    await writeFile(path, 'rubbish');
    expect(await snapshotFile(path).read()).toMatchObject({ snapshot: null, fault: expect.stringContaining('damaged') });
  });

  test('a lost file is replaced by the one before it', async () => {
    const file = snapshotFile(path);
    await keep(file, 1);
    await keep(file, 2);
    await rm(path);
    expect(await file.read()).toMatchObject({ snapshot: { version: 1 }, fault: null });
  });

  test('a draft of a host that was killed goes in time, one that is being written stays', async () => {
    const file = snapshotFile(path);
    await keep(file, 1);
    const [old, fresh] = [`${path}.111.new`, `${path}.222.new`];
    for (const draft of [old, fresh]) await writeFile(draft, 'half');
    const yesterday = new Date(Date.now() - 86_400_000);
    await utimes(old, yesterday, yesterday);
    expect(await file.read()).toMatchObject({ snapshot: { version: 1 }, fault: null });
    expect((await readdir(dirname(path))).filter((name) => name.endsWith('.new'))).toEqual([basename(fresh)]);
  });

  test('remembers that the server was stopped', async () => {
    const file = snapshotFile(path);
    await keep(file, 1);
    await file.setStopped(true);
    expect(await snapshotFile(path).read()).toMatchObject({ stopped: true, snapshot: { version: 1 } });
    await file.setStopped(false);
    expect((await file.read()).stopped).toBe(false);
  });

  test('a delta writes what is new; what stays is found where it was written', async () => {
    const file = snapshotFile(path);
    await keep(file, 1);
    for (let version = 2; version <= 5; version++) await keepDelta(file, version - 1, version);
    expect(await packs()).toHaveLength(5);
    const { snapshot: read } = await snapshotFile(path).read();
    expect(toContent(read?.leaves ?? [], (hash) => read?.texts.get(hash))).toEqual(snapshot(5).content);
    const [prompt] = toBlobs(snapshot(1).content).filter(({ kind }) => kind === 'prompt');
    expect((await file.texts([prompt?.hash ?? ''])).get(prompt?.hash ?? '')).toBe(prompt?.text);
    expect((await file.texts(['unknown'])).size).toBe(0);
  });

  test('packs whose texts are superseded become one before there are many', async () => {
    const file = snapshotFile(path);
    const blobsOf = (version: number) =>
      toBlobs({ ...snapshot(version).content, prompts: [promptOf('long', `${'x'.repeat(600_000)} ${version}`)] });
    for (let version = 1; version <= 12; version++) {
      const [before, after] = [blobsOf(version - 1), blobsOf(version)];
      const came = version === 1 ? after : deltaOf(before, after).added;
      const { content: _, ...head } = snapshot(version);
      await (
        await file.draft(head, toTree(after).text, new Map(came.map(({ hash, text }) => [hash, text])), version === 1)
      ).keep();
    }
    const [, head = ''] = (await readFile(path, 'utf8')).split('\n');
    expect((JSON.parse(head) as { packs: string[] }).packs.length).toBeLessThan(5);
    expect(await snapshotFile(path).read()).toMatchObject({ snapshot: { version: 12 }, fault: null });
  });

  test('many packs become one, and those that nobody names go in time', async () => {
    const file = snapshotFile(path);
    await keep(file, 1);
    for (let version = 2; version <= 66; version++) await keepDelta(file, version - 1, version);
    expect((await snapshotFile(path).read()).snapshot?.version).toBe(66);
    const yesterday = new Date(Date.now() - 86_400_000);
    for (const name of await packs()) await utimes(join(dirname(path), name), yesterday, yesterday);
    await keepDelta(file, 66, 67);
    await snapshotFile(path).read();
    expect((await packs()).length).toBeLessThan(5);
    expect((await snapshotFile(path).read()).snapshot?.version).toBe(67);
  });

  test('a lost or damaged pack is a damaged copy: the one before it counts', async () => {
    const file = snapshotFile(path);
    await keep(file, 1);
    await keep(file, 2);
    const [newest] = (await packs()).filter((name) => name.startsWith(`${basename(path)}.2-`));
    await writeFile(join(dirname(path), newest ?? ''), 'rubbish\n');
    expect(await snapshotFile(path).read()).toMatchObject({
      snapshot: { version: 1 },
      fault: expect.stringContaining('is missing'),
    });
  });

  test('a draft that could not be written goes with the next one', async () => {
    const file = snapshotFile(path);
    await keep(file, 1);
    const folder = dirname(path);
    await rename(folder, `${folder}-away`);
    await keepDelta(file, 1, 2).catch(() => undefined);
    await rename(`${folder}-away`, folder);
    const { content: _, ...head } = snapshot(2);
    await (await file.draft(head, toTree(toBlobs(snapshot(2).content)).text, new Map(), false)).keep();
    expect((await snapshotFile(path).read()).snapshot?.version).toBe(2);
  });

  test('a pack swept by another host of the folder is missed at the next copy, and a whole one heals', async () => {
    const file = snapshotFile(path);
    await keep(file, 1);
    await keepDelta(file, 1, 2);
    for (const name of await packs()) await rm(join(dirname(path), name));
    expect(await keepDelta(file, 2, 3).catch((error: unknown) => error)).toBeInstanceOf(Lacking);
    await keep(file, 3);
    await keepDelta(file, 3, 4);
    expect((await snapshotFile(path).read()).snapshot?.version).toBe(4);
  });

  test('a copy that could not take its place goes with the next one', async () => {
    const file = snapshotFile(path);
    await keep(file, 1);
    await rm(`${path}.previous`, { force: true });
    await mkdir(join(`${path}.previous`, 'in the way'), { recursive: true });
    expect(await keepDelta(file, 1, 2).catch((error: unknown) => error)).toBeInstanceOf(Error);
    await rm(`${path}.previous`, { recursive: true });
    await keepDelta(file, 2, 3);
    const { snapshot: read, fault } = await snapshotFile(path).read();
    expect([read?.version, fault]).toEqual([3, null]);
  });
});
