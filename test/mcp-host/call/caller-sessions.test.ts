import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import type { FrozenConnection } from '#snapshots/format/format.ts';
import { testCaller, type TestCaller } from '../callers.ts';
import { connectionOf, ENVELOPE, keyring, modern, parameterOf, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

/** Calls of two callers over one session; CALLER_CALLS=10000 for the long proof. */
const CALLS = Number(process.env['CALLER_CALLS'] ?? 300);

const KINDS = [
  {
    kind: 'postgresql' as const,
    up: reachable.postgres,
    name: 'app.tenant',
    value: "current_setting('app.tenant', true)",
    nap: 'select pg_sleep(20)',
    setup: `create table orders (id int primary key, tenant text not null);
      alter table orders enable row level security;
      alter table orders force row level security;
      create policy own on orders using (tenant = (select nullif(current_setting('app.tenant', true), '')));
      insert into orders select n, case n % 2 when 0 then 'ada' else 'grace' end from generate_series(1, 100) n;`,
    fail: "select current_setting('app.tenant', true)::int as n",
    modes: ['fixed', 'read'] as const,
  },
  {
    kind: 'mysql' as const,
    up: reachable.mysql,
    name: 'tenant',
    value: '@tenant',
    nap: 'select sleep(20)',
    setup: `create table all_orders (id int primary key, tenant varchar(50) not null);
      create function tenant() returns varchar(50) deterministic no sql return @tenant;
      create sql security definer view orders as select * from all_orders where tenant = tenant();
      insert into all_orders select seq, if(seq % 2 = 0, 'ada', 'grace') from seq_1_to_100;`,
    fail: "select (select tenant() union select 'other') as n",
    modes: ['read'] as const,
  },
];

for (const { kind, up, name, value, nap, setup, fail, modes } of KINDS) {
  describe.skipIf(!up && process.env['CI'] !== 'true')(`one session of ${kind} for many callers`, () => {
    const { control, host } = useHost('all');
    const account = `caller_${crypto.randomUUID().slice(0, 8)}`;
    let database: TestDatabase;
    let connection: FrozenConnection;
    let callers: Record<'ada' | 'grace' | 'nobody', TestCaller>;

    beforeAll(async () => {
      database = await testDatabase(kind);
      await database.run(setup);
      if (kind === 'postgresql') {
        await database.run(`create role ${account} login; grant select, insert on orders to ${account}`);
      } else {
        await database.run(`create user ${account}@'%'; grant select on orders to ${account}@'%';
          grant execute on function tenant to ${account}@'%'`);
      }
      const { password: _, ...settings } = database.settings;
      const draft = connectionOf({
        ...settings,
        name: 'db',
        username: account,
        ssl_key: null,
        ssh: null,
        password: null,
        pool_size: 1,
        max_concurrency: 1,
        session_values: [{ name, from: 'caller.claims.tenant' }],
      });
      connection = { ...draft, password: { $sealed: keyring.seal('', `connection/${draft.id}/password`) } };
      const tools = [
        ...modes.map((mode) =>
          toolOf(connection, `told_${mode}`, `select ${value} as tenant, :n as n`, {
            mode,
            parameters: [parameterOf('n', 'integer')],
          }),
        ),
        ...modes.map((mode) => toolOf(connection, `orders_${mode}`, 'select distinct tenant from orders', { mode })),
        ...modes.map((mode) => toolOf(connection, `fail_${mode}`, fail, { mode })),
        ...modes.map((mode) => toolOf(connection, `nap_${mode}`, nap, { mode })),
        ...modes.map((mode) => toolOf(connection, `late_${mode}`, nap, { mode, timeout_ms: 30 })),
        toolOf(connection, 'kept', `select ${value} as tenant`, { mode: modes[0], cache_ttl_seconds: 60 }),
      ];
      const [ada, grace, nobody] = await Promise.all([
        testCaller('ada', { tenant: 'ada' }),
        testCaller('grace', { tenant: 'grace' }),
        testCaller('nobody', {}),
      ]);
      callers = { ada, grace, nobody };
      const server = { auth_type: 'bearer' as const };
      expect(await control.deploy(snapshotOf(1, { connections: [connection], tools, server }))).toMatchObject({ error: null });
      control.send('tokens', { tokens: [ada.live, grace.live, nobody.live] });
      await until(async () => (await host.health()).access_tokens.as_of !== null);
    });
    afterAll(async () => {
      await host.stop();
      if (kind === 'postgresql') await database.run(`drop owned by ${account}`);
      await database.run(kind === 'postgresql' ? `drop role ${account}` : `drop user ${account}@'%'`);
      await database.drop();
    });

    const call = async (caller: keyof typeof callers, tool: string, args: Record<string, unknown> = {}) =>
      (await modern(host.mcp, 'tools/call', { name: tool, arguments: args }, callers[caller].headers)).body.result ?? {};
    const rows = async (caller: keyof typeof callers, tool: string, args: Record<string, unknown> = {}) => {
      const result = await call(caller, tool, args);
      if (result['isError'] === true) throw new Error(JSON.stringify(result));
      return (result['structuredContent'] as { rows: Record<string, unknown>[] }).rows;
    };
    const leave = async (caller: keyof typeof callers, mode: string) => {
      const controller = new AbortController();
      const left = fetch(host.mcp, {
        method: 'POST',
        signal: controller.signal,
        headers: {
          'content-type': 'application/json',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': `nap_${mode}`,
          ...callers[caller].headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: `nap_${mode}`, _meta: ENVELOPE } }),
      }).catch(() => null);
      setTimeout(() => controller.abort(), 20);
      await left;
    };

    test.each([...modes])('the database is told who calls, and nobody is told nothing (%s)', async (mode) => {
      expect(await rows('ada', `told_${mode}`, { n: 1 })).toMatchObject([{ tenant: 'ada' }]);
      expect(await rows('nobody', `told_${mode}`, { n: 1 })).toMatchObject([{ tenant: kind === 'postgresql' ? '' : null }]);
      expect(await rows('grace', `told_${mode}`, { n: 1 })).toMatchObject([{ tenant: 'grace' }]);
      expect(await rows('ada', `orders_${mode}`)).toEqual([{ tenant: 'ada' }]);
      expect(await rows('grace', `orders_${mode}`)).toEqual([{ tenant: 'grace' }]);
      expect(await rows('nobody', `orders_${mode}`)).toEqual([]);
    });

    test('results are kept for each session value', async () => {
      for (const _ of [1, 2]) {
        expect(await rows('ada', 'kept')).toEqual([{ tenant: 'ada' }]);
        expect(await rows('grace', 'kept')).toEqual([{ tenant: 'grace' }]);
      }
    });

    const proof = `${CALLS} calls of two callers, with errors, cancels and timeouts between, never read what is another's (%s)`;
    test.each([...modes])(
      proof,
      async (mode) => {
        let wrong = 0;
        let answered = 0;
        const one = async (n: number) => {
          const caller = n % 2 === 0 ? 'ada' : 'grace';
          if (n % 97 === 5) return leave(caller, mode);
          if (n % 89 === 7) return void (await call(caller, `late_${mode}`));
          if (n % 13 === 3) {
            expect(await call(caller, `fail_${mode}`)).toMatchObject({ isError: true });
            return;
          }
          const told = n % 5 === 0 ? await call(caller, `orders_${mode}`) : await call(caller, `told_${mode}`, { n });
          const content = told['structuredContent'] as { rows: { tenant: string; n?: number | string }[] } | undefined;
          if (content === undefined) return;
          answered++;
          if (content.rows.length !== 1 || content.rows.some((row) => row.tenant !== caller || Number(row.n ?? n) !== n)) wrong++;
        };
        let next = 0;
        const worker = async () => {
          while (next < CALLS) await one(next++);
        };
        await Promise.all(Array.from({ length: 16 }, worker));
        expect(wrong).toBe(0);
        expect(answered).toBeGreaterThan(CALLS * 0.8);
      },
      900_000,
    );
  });
}
