import { afterAll, describe, expect, test } from 'bun:test';
import { reachable } from '#test/support/databases.ts';
import { openTcpProxy, type TcpProxy } from '#test/support/tcp-proxy.ts';
import { modern, rpc, snapshotOf, textOf } from '../support.ts';
import { askingHost, KINDS, type WrittenDatabase, writingTool } from './confirmation-support.ts';
import { until } from '#test/support/until.ts';

const MADE = 'The change was made, but its result cannot be shown: ';
const NO_SENSE = '{{ 1 // 0 }}';
const ADD = "insert into notes values (:id, 'n')";

for (const { kind, up } of KINDS) {
  describe.skipIf(!up && process.env['CI'] !== 'true')(`a change on ${kind} whose result cannot be shown`, () => {
    let database: WrittenDatabase;
    const at = askingHost();
    at.database(kind, async (made) => {
      database = made;
      const { connection } = made;
      const faulty = { sql: ADD, transform_template: NO_SENSE };
      const tools = [
        writingTool(connection, 'template', faulty),
        writingTool(connection, 'picture', { sql: ADD, return_type: 'image' }),
        writingTool(connection, 'limited', { ...faulty, max_affected_rows: 1 }),
        writingTool(connection, 'confirmed', { ...faulty, confirm: 'always' }),
        writingTool(connection, 'too_many', {
          sql: 'delete from notes where id <= :id',
          max_affected_rows: 1,
          transform_template: NO_SENSE,
        }),
        writingTool(connection, 'refused', { ...faulty, sql: 'insert into notes values (:id, null)' }),
      ];
      await at.control.deploy(snapshotOf(1, { connections: [connection], tools }));
    });
    const notes = async () => (await database.run('select id from notes where id > 2')).length;
    const call = async (name: string, id = 7) => textOf(await modern(at.mcp, 'tools/call', { name, arguments: { id } }));
    const logged = (name: string) =>
      until(() => at.control.usage.flatMap(({ items }) => items).findLast((item) => item.name === name));

    test.each(['template', 'picture', 'limited'])(
      'is an error that says so, to the caller and in the request log (%s)',
      async (name) => {
        const text = await call(name);
        expect(text).toStartWith(MADE);
        expect(text.length).toBeGreaterThan(MADE.length + 10);
        expect(await notes()).toBe(1);
        expect(await logged(name)).toMatchObject({ error: 'bad_request', error_message: text });
      },
    );

    test.each(['too_many', 'refused', 'confirmed'])('is told apart from one that was not made (%s)', async (name) => {
      expect(await call(name)).not.toContain('The change was made');
      expect(await notes()).toBe(0);
      expect((await database.run('select id from notes')).length).toBe(2);
    });
  });
}

describe.skipIf(!reachable.postgres && process.env['CI'] !== 'true')(
  'a caller that cancels while its change is committed',
  () => {
    let database: WrittenDatabase;
    let proxy: TcpProxy;
    /** Done while the commit is on its way. */
    let meanwhile: (() => Promise<unknown>) | null = null;
    const at = askingHost();
    at.database('postgresql', async (made) => {
      database = made;
      proxy ??= await openTcpProxy(
        { host: '127.0.0.1', port: made.connection.port ?? 5432 },
        {
          toServer(bytes, { server }) {
            if (meanwhile === null || !bytes.includes('commit')) return bytes;
            const act = meanwhile;
            meanwhile = null;
            void act().finally(() => server.write(bytes));
            return Buffer.alloc(0);
          },
        },
      );
      const connection = { ...made.connection, host: '127.0.0.1', port: proxy.port, ssl_mode: 'disable' as const };
      const tools = [
        writingTool(connection, 'plain', { sql: ADD }),
        writingTool(connection, 'faulty', { sql: ADD, transform_template: NO_SENSE }),
      ];
      await at.control.deploy(snapshotOf(1, { connections: [connection], tools }));
    });
    afterAll(() => proxy.close());

    test.each([
      ['plain', null],
      ['faulty', MADE],
    ])('is answered with what became of it, as the request log says it (%s)', async (name, sentence) => {
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
      const { headers } = await rpc(at.mcp, { id: 1, method: 'initialize', params });
      const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
      meanwhile = () => rpc(at.mcp, { method: 'notifications/cancelled', params: { requestId: 7 } }, session);
      const answer = await rpc(at.mcp, { id: 7, method: 'tools/call', params: { name, arguments: { id: 7 } } }, session);
      if (sentence === null) expect(answer.body.result).toMatchObject({ structuredContent: { affected_rows: 1 } });
      else expect(textOf(answer)).toStartWith(sentence);
      expect(await database.run('select id from notes where id = 7')).toHaveLength(1);
      const item = await until(() => at.control.usage.flatMap(({ items }) => items).find((one) => one.name === name));
      expect([item.success, item.error_message?.slice(0, MADE.length) ?? null]).toEqual([sentence === null, sentence]);
    });
  },
);
