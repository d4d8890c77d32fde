import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { run } from '#core/control-plane/run.ts';
import { systemRequest } from '#core/context/context.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { filesBelow } from '#test/support/files.ts';
import { type ReplayShop, replayShop } from './replay-support.ts';
import { until } from '#test/support/until.ts';

const GOOD = 'select id, total from orders where customer = :customer order by id';
const CUSTOMER = [{ name: 'customer', type: 'string' }];

let shop: ReplayShop;
let path: string;
const tool = async (name: string, sql_query: string, more: object = {}): Promise<string> => {
  const { connection_id } = shop;
  return `/tools/${String((await shop.api('POST', '/tools', { connection_id, name, description: name, sql_query, ...more })).id)}`;
};
afterEach(() => shop.close());

describe('three hosts', () => {
  beforeEach(async () => {
    shop = await replayShop(3);
    path = await tool('orders_of', GOOD, { parameters: CUSTOMER });
    await tool('ledger', 'select * from orders');
    await shop.deploy();
  });
  const calls = async () => {
    for (const n of [0, 1, 2]) {
      for (const customer of ['ada', 'bob']) await shop.call(n, 'orders_of', { customer });
      await shop.call(n, 'ledger');
    }
  };

  test('the calls of all hosts run on both versions; nothing differs between equal ones', async () => {
    await calls();
    const { samples, slower, ...found } = await shop.replay({ version: 1, calls: 100 });
    expect(found).toEqual({
      against: 'v1',
      calls: 9,
      same: 9,
      changed: 0,
      failed: 0,
      skipped: 0,
      notes: [],
      hosts: ['host-0', 'host-1', 'host-2'].map((id) => ({ id, calls: 3, error: null })),
    });
    // On a busy machine one side of a pair may take twice as long; nothing else tells them apart.
    expect(samples.map(({ outcome }) => outcome)).toEqual(samples.map(() => 'slower'));
    expect(slower).toBe(samples.length);
    expect((await shop.replay({ version: 1, calls: 3 })).calls).toBe(3);
  });

  test('wrong rows, a lost tool, a new failure and a slower statement are found, side by side', async () => {
    await shop.api('PATCH', path, { sql_query: GOOD.replace('select id, total', 'select id, total + 1 as total') });
    const slow = `with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000000) select count(*) as n from n`;
    const ledger = String(((await shop.api('GET', '/tools?search=ledger'))['items'] as { id: string }[])[0]?.id);
    await tool('total', slow);
    const failing = await tool('failing', "select json_extract('{', '$.a') as a");
    const gone = await tool('gone', 'select 1 as n');
    await shop.api('PATCH', `/tools/${ledger}`, { sql_query: 'select * from orders order by id desc' });
    await shop.api('PATCH', gone, { enabled: false });
    expect(await shop.deploy()).toBe(2);
    await shop.api('PATCH', path, { sql_query: GOOD });
    await shop.api('PATCH', failing, { sql_query: 'select 1 as a' });
    await shop.api('PATCH', gone, { enabled: true });
    await shop.api('PATCH', `/tools/${ledger}`, { sql_query: 'select * from orders' });
    const { items } = (await shop.api('GET', '/tools?search=total')) as { items: { id: string; name: string }[] };
    const total = items.find(({ name }) => name === 'total')?.id;
    await shop.api('PATCH', `/tools/${total}`, { sql_query: 'select 2000000 as n' });
    await shop.deploy();
    await calls();
    for (const name of ['failing', 'gone', 'total']) await shop.call(0, name);
    const found = await shop.replay({ version: 2 });
    expect(found).toMatchObject({ calls: 12, same: 1 + 3, changed: 6, failed: 2, skipped: 0 });
    const of = (name: string) => found.samples.filter((sample) => sample.tool === name);
    expect(of('orders_of').find(({ rows }) => rows?.length === 1)).toMatchObject({
      outcome: 'changed',
      difference: '1 of 1 row differs, in total.',
      rows: [{ live: { id: 2, total: 20 }, other: { id: 2, total: 21 } }],
    });
    expect(of('total')).toMatchObject([
      { outcome: 'slower', difference: expect.stringMatching(/^It takes \d+ ms instead of \d+ ms\.$/) },
    ]);
    expect(of('gone')).toMatchObject([{ outcome: 'failed', difference: 'The tool is not there for its caller.' }]);
    expect(of('failing')).toMatchObject([
      { outcome: 'failed', difference: expect.stringMatching(/^The database refuses the statement\. /) },
    ]);
    expect(found.notes).toEqual(['The order of the rows of ledger was not compared, because its statement has no ORDER BY.']);
    // What clients are served stays the live version, and its metrics count their calls alone.
    expect(await shop.call(0, 'orders_of', { customer: 'bob' })).toMatchObject({ rows: [{ id: 2, total: 20 }] });
  });

  test('a version whose reading tools refuse undeclared arguments fails the calls that sent some', async () => {
    await shop.api('PATCH', '/server/config', { undeclared_arguments: 'refuse' });
    expect(await shop.deploy()).toBe(2);
    await shop.api('PATCH', '/server/config', { undeclared_arguments: 'answer' });
    await shop.deploy();
    await shop.call(0, 'ledger', { status: 'open' });
    await shop.call(0, 'ledger', { wait_for_previous: true });
    const { failed, changed, samples } = await shop.replay({ version: 2 });
    expect([failed, changed]).toEqual([1, 0]);
    expect(samples.find(({ outcome }) => outcome === 'failed')?.tool).toBe('ledger');
  });

  test('a token learns that an answer differs, and nothing of what does', async () => {
    await shop.api('PATCH', path, { sql_query: GOOD.replace('total from', 'total + 4711 as total from') });
    await shop.deploy();
    await calls();
    const made = await shop.api('POST', '/agent-tokens', { name: 'ci', duration_minutes: 60, scopes: ['deploy'] });
    const headers = { authorization: `Bearer ${String(made['token'])}` };
    const { status, body } = await shop.t.request('POST', '/api/v1/replay', { body: { version: 1 }, headers, anonymous: true });
    expect([status, body['changed']]).toEqual([200, 6]);
    const samples = body['samples'] as { rows: unknown; difference: string }[];
    expect(samples.every(({ rows, difference }) => rows === null && !difference.includes('total'))).toBe(true);
    expect(body['notes']).toEqual([]);
    expect(JSON.stringify(body)).not.toContain('4721');
  });

  test('what a caller sent is in the memory of the hosts and nowhere else', async () => {
    const canary = 'canary-7f3a-customer';
    await shop.api('PATCH', path, { sql_query: GOOD.replace('where', 'where :customer is not null and') });
    await shop.deploy();
    for (const n of [0, 1, 2]) await shop.call(n, 'orders_of', { customer: canary });
    const answers: object[] = [
      await shop.replay({ version: 1 }),
      await shop.replay({ version: 2 }),
      ...(await Promise.all(
        ['/logs', '/deploy/status', '/history', '/metrics/stats', '/queue/metrics'].map((at) => shop.api('GET', at)),
      )),
    ];
    for (const { host, mcp } of shop.hosts) {
      answers.push({ health: host.health() });
      for (const at of ['/metrics', '/readyz']) {
        const token = shop.t.app.env.SVC_AGENT_SERVICE_TOKEN;
        const answer = await fetch(new URL(at, mcp), { headers: { 'x-service-token': token } });
        answers.push({ text: await answer.text() });
      }
    }
    expect((answers[0] as { calls: number }).calls).toBe(3);
    expect(JSON.stringify(answers)).not.toContain(canary);
    expect(JSON.stringify([shop.t.log, shop.hosts.map(({ log }) => log)])).not.toContain(canary);
    const files = filesBelow(shop.t.directory);
    expect(files.length).toBeGreaterThan(3);
    expect(files.filter(({ text }) => text.includes(canary)).map(({ path }) => path)).toEqual([]);
  });

  test('masks are those of the caller on both sides, and columns that always differ are left out', async () => {
    await shop.api('PATCH', path, {
      sql_query: GOOD.replace('total from', 'total, customer, random() as chance from'),
      masks: [{ column: 'customer', mask: 'hash' }],
    });
    await shop.deploy();
    await shop.api('PATCH', path, { description: 'Orders of one customer, newest last' });
    await shop.deploy();
    await calls();
    const found = await shop.replay({ version: 2 });
    expect(found).toMatchObject({ calls: 9, same: 9, changed: 0 });
    expect(found.notes.some((note) => note.includes('other values in chance each time'))).toBe(true);
    await shop.api('PATCH', path, { sql_query: GOOD.replace('total from', 'total * 2 as total, customer, 1 as chance from') });
    await shop.deploy();
    await calls();
    const { samples } = await shop.replay({ version: 2 });
    expect(JSON.stringify(samples)).not.toContain('"ada"');
  });
});

describe('one host', () => {
  test('refuses what cannot be compared, in sentences', async () => {
    shop = await replayShop(1, 0);
    await tool('ledger', 'select * from orders');
    const ask = async (body: object) => {
      const answer = await shop.t.request('POST', '/api/v1/replay', { body, headers: { accept: 'application/problem+json' } });
      return [answer.status, String(answer.body['detail'])];
    };
    expect(await ask({ version: 1 })).toEqual([404, 'There is no snapshot 1.']);
    await shop.deploy();
    expect((await ask({}))[0]).toBe(422);
    expect((await ask({ version: 1, candidate: 'x' }))[0]).toBe(422);
    expect((await ask({ candidate: 'x' }))[0]).toBe(404);
    const [status, detail] = await ask({ version: 1 });
    expect([status, detail]).toEqual([409, expect.stringContaining('Set replay_samples above 0')]);
    await shop.call(0, 'ledger');
    await shop.api('PATCH', '/server/config', { replay_samples: 5 });
    await shop.deploy();
    expect(await shop.replay({ version: 1 })).toMatchObject({ calls: 0, hosts: [{ id: 'host-0', calls: 0, error: null }] });
  });

  test('writing tools are never kept or run', async () => {
    shop = await replayShop(1);
    await shop.api('PATCH', `/connections/${shop.connection_id}`, { read_only: false });
    const write = await tool('pay', 'update orders set total = 0 where id = :id', {
      parameters: [{ name: 'id', type: 'integer' }],
    });
    const reads = await tool('one', 'select 1 as n');
    await shop.deploy();
    await shop.call(0, 'pay', { id: 1 });
    await shop.api('PATCH', write, { sql_query: 'select total from orders where id = :id' });
    await shop.api('PATCH', reads, { sql_query: 'insert into orders (total) values (1)' });
    await shop.deploy();
    await shop.api('PATCH', reads, { sql_query: 'select 1 as n' });
    await shop.deploy();
    await shop.call(0, 'pay', { id: 1 });
    await shop.call(0, 'one');
    const before = shop.db.query('select count(*) as n, sum(total) as total from orders').get();
    // In version 1 the first of them writes, in version 2 the second.
    for (const version of [1, 2]) {
      expect(await shop.replay({ version })).toMatchObject({ calls: 1, same: 1, skipped: 1 });
    }
    expect(shop.db.query('select count(*) as n, sum(total) as total from orders').get()).toEqual(before as never);
  });

  test('calls of clients go first, and closing the request ends it', async () => {
    shop = await replayShop(1);
    const slow = (n: number) =>
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${n}) select count(*) as n from n`;
    await shop.api('PATCH', `/connections/${shop.connection_id}`, { max_concurrency: 1, pool_size: 1 });
    const path_of_slow = await tool('slow', slow(10));
    await tool('quick', 'select 1 as n');
    await shop.deploy();
    for (let n = 0; n < 5; n++) await shop.call(0, 'slow');
    await shop.api('PATCH', path_of_slow, { sql_query: slow(30_000_000), timeout_ms: 20_000 });
    const slower = await shop.deploy();
    await shop.api('PATCH', path_of_slow, { sql_query: slow(10) });
    await shop.deploy();
    const end = new AbortController();
    let ended = false;
    const replayed = run(shop.t.app, 'replay.run', { version: slower }, { ...systemRequest('r'), signal: end.signal })
      .catch((error: unknown) => error)
      .finally(() => {
        ended = true;
      });
    const gauge = () => shop.hosts[0]?.host.health().connections[0]?.queue;
    await until(() => gauge()?.active === 1);
    // It waits for the statement to give way, not for its end.
    await shop.call(0, 'quick');
    expect(ended).toBe(false);
    const second = await shop.t.request('POST', '/api/v1/replay', { body: { version: slower } });
    expect(second.status).toBe(409);
    end.abort();
    expect(String(await replayed)).toContain('cancelled');
    await until(() => gauge()?.active === 0);
  }, 60_000);
});

if (!reachable.postgres) test.skip('what a database quotes (PostgreSQL is not reachable)', () => undefined);
else {
  test('what a database quotes of a call is left out of what people read', async () => {
    const database = await testDatabase('postgresql');
    shop = await replayShop(1);
    try {
      const { host, port, database: name, username } = database.settings;
      const draft = { name: 'pg', db_type: 'postgresql', host, port, database: name, username, ssl_mode: 'disable' };
      const connection_id = String((await shop.api('POST', '/connections', draft)).id);
      const quoting = await tool('quoting', 'select (:customer || :customer)::int as n', { connection_id, parameters: CUSTOMER });
      await shop.deploy();
      await shop.api('PATCH', quoting, { sql_query: "select length(:customer || 'x') as n" });
      await shop.deploy();
      await shop.call(0, 'quoting', { customer: 'canary' });
      const found = await shop.replay({ version: 1 });
      expect(found).toMatchObject({
        failed: 1,
        samples: [{ difference: expect.stringMatching(/^The database refuses the statement\. .*integer: "……"/) }],
      });
      expect(JSON.stringify(found)).not.toContain('canary');
      const masks = [{ column: 'email', mask: 'text' }];
      const masked = await tool('masked', "select 'hidden'::text as email", { connection_id, masks });
      const version = await shop.deploy();
      await shop.api('PATCH', masked, { sql_query: "select (case when now() > 'epoch' then 'hidden' end)::int::text as email" });
      await shop.deploy();
      await shop.api('PATCH', masked, { sql_query: "select 'hidden'::text as email" });
      await shop.deploy();
      await shop.call(0, 'masked');
      const { samples } = await shop.replay({ version: version + 1 });
      expect(samples.find(({ tool: of }) => of === 'masked')?.difference).toBe(
        'The database refuses the statement. The database reported an error (SQLSTATE 22P02). Its message can contain masked values, so it is not shown.',
      );
    } finally {
      await shop.close();
      shop = await replayShop(1);
      await database.drop();
    }
  });
}
