import { expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { anyProgramRequest, anyRequest, prepare, sendAndCheck } from './fuzz-requests.ts';

test.skipIf(!reachable.postgres)(
  'with PostgreSQL as the metadata database, too, every answer is one of the contract',
  async () => {
    const database = await testDatabase('postgresql');
    const { host, port, username, database: name } = database.settings;
    const t = await testApp({}, `postgres://${username}@${host}:${port}/${name}`);
    try {
      const requests = fc.oneof(
        { weight: 9, arbitrary: anyRequest(await prepare(t)) },
        { weight: 1, arbitrary: anyProgramRequest(t.app.env.SVC_AGENT_SERVICE_TOKEN) },
      );
      let done = 0;
      const property = fc.asyncProperty(requests, async (request) => {
        if ((await sendAndCheck(t, request)) < 300) done += 1;
      });
      await fc.assert(property, { numRuns: 3_000 });
      expect(done).toBeGreaterThan(300);
    } finally {
      await t.close();
      await database.drop();
    }
  },
  240_000,
);
