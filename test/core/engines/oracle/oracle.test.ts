import { afterAll, expect, test } from 'bun:test';
import { seed } from '#test/support/chance.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { compare, type OracleDatabase } from './oracle.ts';
import { openPostgresql, POSTGRESQL } from './postgresql.ts';

/** More for a long run: `ORACLE_CASES=10000`. */
const count = Number(process.env['ORACLE_CASES'] ?? 300);

let database: TestDatabase | undefined;
let opened: OracleDatabase | undefined;
afterAll(async () => {
  await opened?.close();
  await database?.drop();
});

test.skipIf(!reachable.postgres)(
  'PostgreSQL answers a statement with parameters as it answers the one with literals',
  async () => {
    database = await testDatabase('postgresql');
    opened = await openPostgresql(database.settings, database.run);
    const { differences, agreed, failed, refused } = await compare(POSTGRESQL, opened, { seed, count });
    if (process.env['ORACLE_CASES'] !== undefined) console.log({ agreed, failed, refused, differences: differences.length });
    expect(differences.slice(0, Number(process.env['ORACLE_SHOWN'] ?? 5)).join('\n\n')).toBe('');
    // Else the grammar says nothing.
    expect(agreed * 2).toBeGreaterThan(count < 100 ? 0 : count);
  },
  600_000,
);
