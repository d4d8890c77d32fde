import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  connectionOf,
  type ControlServer,
  controlServer,
  modern,
  snapshotOf,
  sqliteFolder,
  testHost,
  type TestHost,
  toolOf,
} from '../support.ts';
import { until } from '#test/support/until.ts';

let folder: ReturnType<typeof sqliteFolder>;
let control: ControlServer;
let host: TestHost;

beforeEach(() => {
  folder = sqliteFolder();
  control = controlServer();
  control.installation = { id: 'ours', deployed: true };
});
afterEach(async () => {
  await host.stop();
  await control.stop();
  folder.remove();
});

const path = () => join(folder.directory, 'installation.json');
const kept = () => (existsSync(path()) ? readFileSync(path(), 'utf8') : '');
const start = async () => {
  host = await testHost(folder.directory, control.url);
  await until(async () => (await host.health()).control.connected);
};
const deployed = async () => {
  const connection = connectionOf({});
  const tools = [toolOf(connection, 'one', 'select 1 as one')];
  return control.deploy(snapshotOf(1, { connections: [connection], tools }));
};
const statusOfCall = async () => (await modern(host.mcp, 'tools/call', { name: 'one' })).status;
/** The server comes back at the same address with another database. */
const returnAs = async (installation: ControlServer['installation']) => {
  const port = Number(new URL(control.url).port);
  await control.stop();
  await until(async () => !(await host.health()).control.connected);
  control = controlServer(port);
  control.installation = installation;
  await until(async () => (await host.health()).control.connected);
};
const REFUSED = expect.stringContaining('a different metadata database');

describe('a host that serves what one installation deployed', () => {
  test('takes nothing from another one, says why, and follows its own again', async () => {
    await start();
    expect(await deployed()).toMatchObject({ version: 1, error: null });
    expect(await statusOfCall()).toBe(200);
    await until(() => control.usage.some(({ items }) => items.length > 0));

    await returnAs({ id: 'theirs', deployed: true });
    await until(() => control.acks.length > 0);
    expect(control.acks[0]).toMatchObject({ version: 1, request_id: null, error: REFUSED });
    control.send('tokens', { tokens: [] });
    control.send('stop', {});
    const answer = control.nextAck();
    control.send('listen', { host: '127.0.0.1', port: 1, request_id: 'probe' });
    expect(await answer).toMatchObject({ request_id: 'probe', error: null });
    const refusal = control.nextAck();
    control.send('snapshot', snapshotOf(2, { tools: [] }));
    expect(await refusal).toMatchObject({ version: 1, request_id: null, error: REFUSED });
    expect(await statusOfCall()).toBe(200);
    await Bun.sleep(500);
    expect(control.usage).toEqual([]);
    expect(host.log.filter(({ message }) => message === 'server_refused')).toMatchObject([{ fields: { detail: REFUSED } }]);

    await host.stop();
    await start();
    expect(await statusOfCall()).toBe(200);

    await returnAs({ id: 'ours', deployed: true });
    await until(() => control.usage.some(({ items }) => items.length > 0));
    const stopped = control.nextAck();
    control.send('stop', {});
    expect(await stopped).toMatchObject({ version: null, error: null });
    expect(await statusOfCall()).toBe(503);
  });

  test('moves to another one when its folder is emptied', async () => {
    await start();
    await deployed();
    await until(() => kept().includes('ours'));
    await host.stop();
    for (const name of ['installation.json', 'host.json', 'host.json.previous'])
      rmSync(join(folder.directory, name), { force: true });
    control.installation = { id: 'theirs', deployed: true };
    await start();
    expect(await deployed()).toMatchObject({ version: 1, error: null });
    await until(() => kept().includes('theirs'));
  });
});

describe('a host that knows no installation', () => {
  test('takes the first one, and none where nothing was ever deployed once it serves a version', async () => {
    control.installation = null;
    await start();
    expect(await deployed()).toMatchObject({ error: null });
    await returnAs({ id: 'empty', deployed: false });
    await until(() => control.acks.length > 0);
    control.send('stop', {});
    expect(control.acks[0]).toMatchObject({ version: 1, error: REFUSED });
    expect(await statusOfCall()).toBe(200);
    await returnAs({ id: 'ours', deployed: true });
    await until(() => kept().includes('ours'));
    const ack = control.nextAck();
    control.send('stop', {});
    expect(await ack).toMatchObject({ version: null });
  });

  test('goes on refusing that one once something is deployed there, also after a restart', async () => {
    control.installation = null;
    await start();
    expect(await deployed()).toMatchObject({ error: null });
    await returnAs({ id: 'empty', deployed: false });
    await until(() => kept().includes('empty'));
    const expectRefused = async () => {
      await until(() => control.acks.length > 0);
      expect(control.acks[0]).toMatchObject({ version: 1, error: REFUSED });
      control.send('stop', {});
      await Bun.sleep(100);
      expect(await statusOfCall()).toBe(200);
    };
    await returnAs({ id: 'empty', deployed: true });
    await expectRefused();
    await host.stop();
    control.acks.length = 0;
    await start();
    await expectRefused();
    // Its own, which says so at last, is taken, and remembered as that.
    await returnAs({ id: 'ours', deployed: true });
    await until(() => kept().includes('ours'));
    expect(kept()).not.toContain('empty');
    await returnAs({ id: 'empty', deployed: true });
    await expectRefused();
  });

  test('takes the one that it refused once its folder is emptied', async () => {
    control.installation = null;
    await start();
    await deployed();
    await returnAs({ id: 'empty', deployed: false });
    await until(() => kept().includes('empty'));
    await host.stop();
    for (const name of ['installation.json', 'host.json', 'host.json.previous'])
      rmSync(join(folder.directory, name), { force: true });
    control.installation = { id: 'empty', deployed: true };
    await start();
    expect(await deployed()).toMatchObject({ error: null });
    expect(JSON.parse(kept())).toMatchObject({ id: 'empty' });
  });

  test('follows whichever installation comes while it serves nothing', async () => {
    control.installation = { id: 'empty', deployed: false };
    await start();
    await until(() => kept().includes('empty'));
    await returnAs({ id: 'ours', deployed: true });
    expect(await deployed()).toMatchObject({ version: 1, error: null });
    expect(kept()).toContain('ours');
  });

  test('starts with a damaged file, and says so', async () => {
    writeFileSync(path(), 'x');
    await start();
    expect(host.log.find(({ message }) => message === 'installation_file_damaged')).toBeDefined();
    expect(await deployed()).toMatchObject({ error: null });
  });
});
