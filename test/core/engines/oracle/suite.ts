import { expect, test } from 'bun:test';
import { seed } from '#test/support/chance.ts';
import { compare, type OracleDatabase, type OracleDialect } from './oracle.ts';

/** One engine of the oracle. */
export interface OracleEngine {
  readonly dialect: OracleDialect;
  /** The database is on this machine. */
  readonly up: boolean;
  readonly open: () => Promise<OracleDatabase>;
}

/** `ORACLE_CASES=10000` for a long run, with another `TEST_SEED` for other statements. */
const asked = process.env['ORACLE_CASES'];
const count = Number(asked ?? 300);
/** Differences that are shown at once. */
const SHOWN = 20;

export function runOracle({ dialect, up, open }: OracleEngine): void {
  test.skipIf(!up)(
    `a statement with parameters is answered as with literals on ${dialect.db_type}`,
    async () => {
      const database = await open();
      try {
        const { differences, agreed, failed, refused } = await compare(dialect, database, { seed, count });
        if (asked !== undefined) console.log({ agreed, failed, refused, differences: differences.length });
        expect(differences.slice(0, SHOWN).join('\n\n')).toBe('');
        // Else the statements say nothing.
        expect(agreed).toBeGreaterThan(count < 100 ? -1 : count / 2);
      } finally {
        await database.close();
      }
    },
    3_600_000,
  );
}
