import { afterAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { followDeployments } from '#core/deploy/deployment-follow.ts';
import { eventForHost } from '#core/deploy/publish.ts';
import { testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

describe.each([...namedStores])('a server where nothing was ever deployed (%s)', (metadata) => {
  test('stops no host that serves a version', async () => {
    const t = await testApp({}, undefined, { metadata });
    const sent: string[] = [];
    const leave = t.app.hosts.connect('h1', ({ event }) => void sent.push(event));
    const end = followDeployments(t.app, 20);
    expect((await eventForHost(t.app, '3:sha256:other')).event).toBe('ping');
    expect((await eventForHost(t.app, '')).event).toBe('stop');
    await Bun.sleep(200);
    expect(sent).not.toContain('stop');
    end();
    leave();
    await t.close();
  });
});

describe('a server that starts on another database', () => {
  let programs: Programs | undefined;
  afterAll(async () => {
    await programs?.stop();
    if (programs !== undefined) removeFolder(programs);
  });

  test('changes nothing for its hosts, whose report says why, until their folder is emptied', async () => {
    const first = (programs = await startPrograms());
    await first.demo();
    await until(isServed);
    await first.stop();

    const env = { SVC_DATABASE_URL: `file:${join(first.directory, 'empty.sqlite')}`, SVC_DEMO: 'false' };
    const wrong = (programs = await startPrograms({ again: first, env }));
    await wrong.signIn();
    const hosts = async () => (await wrong.api<{ hosts: Shown[] }>('GET', '/deploy/status')).hosts;
    await until(async () => (await hosts()).some(({ error }) => error?.includes('a different metadata database') === true));
    expect(wrong.output()).toContain('server_refused');
    expect(await isServed()).toBe(true);
    const [before_kept, before_start] = partsOf((await hosts())[0]?.id);
    await wrong.stop();

    const right = (programs = await startPrograms({ again: first }));
    await until(isServed);
    expect(right.output()).not.toContain('server_refused');
    // Of the id, what its folder keeps stays.
    await right.signIn();
    let host: Shown | undefined;
    const isThere = async () => {
      [host] = (await right.api<{ hosts: Shown[] }>('GET', '/deploy/status')).hosts;
      return host !== undefined;
    };
    await until(isThere);
    const [kept, start] = partsOf(host?.id);
    expect(kept).toBe(before_kept);
    expect(start).not.toBe(before_start);
    await right.stop();

    rmSync(join(first.directory, 'host'), { recursive: true });
    const moved = (programs = await startPrograms({ again: first, env }));
    await until(async () => (await list()).status === 503);
    expect(moved.output()).not.toContain('server_refused');
  }, 120_000);

  const list = () =>
    fetch(programs?.mcp_url ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE }),
    });
  const isServed = async () => (await list()).status === 200;
});

interface Shown {
  readonly id: string;
  readonly error: string | null;
}

/** Name of the machine with what stays, and what is new at each start. */
const partsOf = (id = '') => [id.slice(0, -9), id.slice(-8)];

const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
