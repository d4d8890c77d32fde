import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';
import { assertionsOf } from '#test/support/assertions.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { openTestProvider, type TestProvider } from '#test/support/test-provider.ts';

let provider: TestProvider;
beforeAll(async () => {
  provider = await openTestProvider();
});
afterAll(() => provider.close());

/** Two servers of one database, without Redis: they have nothing else in common. */
async function replayed(database_url: string): Promise<void> {
  const servers: TestApp[] = [];
  try {
    for (let n = 0; n < 2; n++) {
      const t = await testApp({}, database_url);
      servers.push(t);
      t.advance(Date.now() - t.app.clock().getTime());
      await t.signIn();
    }
    const [first, second] = servers.map((t) => assertionsOf(t, provider));
    if (first === undefined || second === undefined) throw new Error('there are two servers');
    await first.configure();
    const once = await first.assertion();
    expect((await first.send(once)).status).toBe(200);
    const again = await second.send(once);
    expect([again.status, again.body['error'], again.body['detail']]).toEqual([
      400,
      'invalid_grant',
      expect.stringContaining('used before'),
    ]);
    for (let round = 0; round < 3; round++) {
      const assertion = await second.assertion();
      const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? first : second).send(assertion)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    }
    // All of them renewed one session.
    expect((await servers[1]!.call('grants.list', {})).total).toBe(1);
  } finally {
    for (const t of servers) await t.close();
  }
}

test('an assertion works once at two servers of one embedded database', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-assertions-'));
  await replayed(`file:${folder}/sluice.sqlite`);
  rmSync(folder, { recursive: true, force: true });
});

if (reachable.postgres) {
  test('an assertion works once at two servers of one PostgreSQL database', async () => {
    const database = await testDatabase('postgresql');
    await replayed(database.url);
    await database.drop();
  });
}
