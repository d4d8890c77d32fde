import { statSync } from 'node:fs';
import { sql } from 'drizzle-orm';
import { translate } from '#core/store/open.ts';
import type { Command } from './command.ts';
import { embeddedFile, openAsIs, readEnvironment } from './open.ts';

export const vacuum: Command = {
  usage: 'vacuum',
  summary: 'Make the file of the embedded database smaller (PostgreSQL does this by itself)',
  async run(_, terminal) {
    const { env } = readEnvironment(terminal);
    const file = embeddedFile(env);
    if (file === null) {
      terminal.out('PostgreSQL frees space by itself (autovacuum). Nothing was done.\n');
      return 0;
    }
    const { store } = await openAsIs(env);
    const before = sizeOf(file);
    try {
      await translate(() => store.db.run(sql`vacuum`));
      // The new pages are in the WAL until then.
      await translate(() => store.db.run(sql`pragma wal_checkpoint(truncate)`));
    } finally {
      await store.close();
    }
    terminal.out(`The metadata database has ${megabytes(sizeOf(file))} instead of ${megabytes(before)}.\n`);
    return 0;
  },
};

const sizeOf = (file: string): number => statSync(file).size;
const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;
