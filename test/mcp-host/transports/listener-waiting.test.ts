import { describe, expect, test } from 'bun:test';
import { createListener } from '#mcp-host/transports/listener.ts';
import { connectionOf, controlServer, snapshotOf, sqliteFolder, testHost, toolOf } from '../support.ts';
import { until } from '#test/support/until.ts';

describe('a client that waits for a tool', () => {
  const ENDLESS = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
  const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} } });

  test.concurrent.each([
    ['alone', call(1, 'slow')],
    ['in a batch whose other call has ended', [call(1, 'slow'), call(2, 'less_slow')]],
  ])(
    'in silence, %s, is answered',
    async (_, body) => {
      const folder = sqliteFolder();
      const control = controlServer();
      const host = await testHost(folder.directory, control.url);
      const listener = createListener({ fetch: host.host.fetch, endStreams: () => undefined, idle_seconds: 1 });
      try {
        await until(async () => (await host.health()).control.connected);
        const connection = connectionOf({});
        const tools = [
          toolOf(connection, 'slow', ENDLESS, { timeout_ms: 6_000 }),
          toolOf(connection, 'less_slow', ENDLESS, { timeout_ms: 200 }),
        ];
        await control.deploy(snapshotOf(1, { connections: [connection], tools }));
        await listener.use({ host: '127.0.0.1', port: 0 });
        const answer = await fetch(`${listener.current()?.url}/mcp`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        expect([await answer.json()].flat()[0]).toMatchObject({ id: 1, result: { isError: true } });
      } finally {
        await listener.close(0);
        await host.stop();
        await control.stop();
        folder.remove();
      }
    },
    60_000,
  );
});
