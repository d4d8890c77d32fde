import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKeyring, keyIdOf } from '#core/lib/secrets.ts';
import type { Snapshot } from '#snapshots/format/format.ts';
import { connectionOf, modern, snapshotOf, testHost, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const OLD = 'old-key-old-key-old-key-old-key-old';
const NEW = 'new-key-new-key-new-key-new-key-new';
const fingerprints = new Uint8Array(32);

const { folder, control, host, use } = useHost('each', null);

const start = async (...keys: string[]) => {
  const ring = createKeyring(keys, fingerprints);
  const openSecret = (sealed: string, place: string) => ring.open(sealed, place);
  use(await testHost(folder.directory, control.url, { openSecret, staleSecret: (sealed) => ring.stale(sealed) }));
  await until(async () => (await host.health()).control.connected);
};

/** The same snapshot, its secret sealed with the first key of the ring. */
function sealedWith(key: string, snapshot?: Snapshot): Snapshot {
  const connection = snapshot?.content.connections[0] ?? connectionOf({});
  const password = { $sealed: createKeyring([key], fingerprints).seal('hunter2', `connection/${connection.id}/password`) };
  const fresh = snapshot ?? snapshotOf(1, { tools: [toolOf(connection, 'one', 'select 1 as one', { return_type: 'value' })] });
  return snapshotOf(fresh.version, { ...fresh.content, connections: [{ ...connection, password }] });
}

const callOne = async () => (await modern(host.mcp, 'tools/call', { name: 'one' })).body.result as { isError?: boolean };
/** What the copy on disk names. */
function onDisk(): string {
  const path = join(folder.directory, 'host.json');
  if (!existsSync(path)) return '';
  const { packs } = JSON.parse(readFileSync(path, 'utf8').split('\n')[1] ?? '{}') as { packs: string[] };
  return packs.map((pack) => readFileSync(join(folder.directory, pack), 'utf8')).join('');
}

test('a copy that an older key sealed is asked for again, kept, and then serves without that key', async () => {
  await start(OLD);
  const old = sealedWith(OLD);
  await control.deploy(old);
  expect(await callOne()).not.toMatchObject({ isError: true });
  await until(() => onDisk().includes(keyIdOf(OLD)));
  await host.stop();

  control.greeting = { event: 'snapshot', data: sealedWith(NEW, old) };
  await start(NEW, OLD);
  expect(control.haves.at(-1)).toBe('');
  await until(() => onDisk().includes(keyIdOf(NEW)));
  expect(await callOne()).not.toMatchObject({ isError: true });
  await host.stop();

  const { content: _, ...head } = old;
  control.greeting = { event: 'snapshot', data: head };
  await start(NEW);
  expect(control.haves.at(-1)).toBe(`1:${old.checksum}`);
  expect(await callOne()).not.toMatchObject({ isError: true });
});

test('a host that lost the old key serves again as soon as the server answers', async () => {
  await start(OLD);
  const old = sealedWith(OLD);
  await control.deploy(old);
  await until(() => onDisk().includes(keyIdOf(OLD)));
  await host.stop();

  await start(NEW);
  expect(await callOne()).toMatchObject({ isError: true });
  await control.deploy(sealedWith(NEW, old));
  expect(await callOne()).not.toMatchObject({ isError: true });
});
