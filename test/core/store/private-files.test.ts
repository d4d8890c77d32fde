import { afterAll, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '#core/store/open.ts';
import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { parseEnv } from '#core/process/env.ts';
import { createLog } from '#core/process/log.ts';
import { createShop } from '#core/sources/sample-shop.ts';
import { hostOptions } from '#mcp-host/setup.ts';
import { snapshotOf } from '#test/mcp-host/support.ts';
import { keepOnDisk } from '#test/mcp-host/snapshot-forms.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-private-'));
const mask = process.umask(0o022);
afterAll(() => {
  process.umask(mask);
  rmSync(root, { recursive: true, force: true });
});

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

test('the metadata database, its companions and a folder that is made for them are for their owner alone', async () => {
  const folder = join(root, 'fresh');
  const store = await openStore(`file:${folder}/sluice.sqlite`);
  await store.write((tx) => tx.insert(store.tables.meta).values({ key: 'one', value: '1' }));
  for (const name of ['sluice.sqlite', 'sluice.sqlite-wal', 'sluice.sqlite-shm']) {
    expect([name, existsSync(join(folder, name)) ? modeOf(join(folder, name)) : 'missing']).toEqual([name, '600']);
  }
  expect(modeOf(folder)).toBe('700');
  await store.close();
});

test('one that others could read until now is closed to them; the folder of the operator stays as it is', async () => {
  const folder = join(root, 'older');
  mkdirSync(folder, { mode: 0o755 });
  const file = join(folder, 'sluice.sqlite');
  writeFileSync(file, '');
  chmodSync(file, 0o644);
  const store = await openStore(`file:${file}`);
  expect([modeOf(file), modeOf(folder)]).toEqual(['600', '755']);
  await store.close();
});

test('whichever program comes first, the data folder and what it keeps there are for its owner alone', async () => {
  const source = { SVC_ENV: 'dev', SVC_KV: 'memory', SVC_DATA_DIR: join(root, 'secrets') };
  const made = withDevSecrets(source);
  expect([modeOf(source.SVC_DATA_DIR), modeOf(join(source.SVC_DATA_DIR, 'dev-secrets.json'))]).toEqual(['700', '600']);
  const data = join(root, 'host');
  const { env } = parseEnv('host', { ...made, SVC_DATA_DIR: data });
  const options = await hostOptions(
    env,
    createLog('ERROR', () => undefined),
  );
  await keepOnDisk(options.file, snapshotOf(1, {}));
  await options.auth.tokens.write({ as_of: new Date(0).toISOString(), tokens: [] });
  expect([modeOf(data), modeOf(join(data, 'host'))]).toEqual(['700', '700']);
  expect([modeOf(join(data, 'host/snapshot.json')), modeOf(join(data, 'host/tokens.json'))]).toEqual(['600', '600']);
  createShop(join(root, 'demo/databases'));
  expect(modeOf(join(root, 'demo'))).toBe('700');
});
