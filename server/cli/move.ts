import { firstWithRows, copyRows } from '#core/store/copy.ts';
import { openStore, databaseUrl } from '#core/store/open.ts';
import type { Store } from '#core/store/store.ts';
import { AppError } from '#core/errors.ts';
import { lockDatabase } from '#core/store/database-lock.ts';
import { type Command, type Terminal, UsageError } from './command.ts';
import { embeddedFile, openDatabase, readEnvironment } from './open.ts';
import { firstLine } from './password.ts';

export const move: Command = {
  usage: 'move <URL of a PostgreSQL database | ->',
  summary: 'Copy the embedded metadata database into an empty PostgreSQL database (-: read its URL from standard input)',
  words: 1,
  async run({ positionals: [given = ''] }, terminal) {
    const { env } = readEnvironment(terminal);
    const url = given === '-' ? await firstLine(terminal.stdin) : given;
    if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url))
      throw new UsageError('Name the database as postgres://user:password@host/database.');
    if (embeddedFile(env) === null)
      throw new AppError(
        'conflict',
        'The metadata database is PostgreSQL already. Unset SVC_DATABASE_URL to move the embedded one.',
      );
    const unlock = lockDatabase(databaseUrl(env));
    const from = await openDatabase(env);
    try {
      return await moveInto(from, url, terminal);
    } finally {
      await from.close();
      unlock();
    }
  },
};

async function moveInto(from: Store, url: string, { out, err }: Terminal): Promise<number> {
  const to = await openStore(url);
  try {
    const used = await firstWithRows(to);
    if (used !== null) {
      const detail = `The PostgreSQL database holds data of Sluice already (table ${used}), so nothing was copied. Name an empty database.`;
      throw new AppError('conflict', detail);
    }
    const rows = await copyRows(from, to, (name, number) => err(`  ${name}: ${number}\n`));
    out(
      `${rows} rows were copied. Start the server with SVC_DATABASE_URL; SVC_ENCRYPTION_KEY and the other secrets stay the same. Keep the embedded database until the server runs.\n`,
    );
    return 0;
  } finally {
    await to.close();
  }
}
