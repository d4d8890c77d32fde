import { Database } from 'bun:sqlite';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { sql } from 'drizzle-orm';
import { databaseUrl } from '#core/store/open.ts';
import { storedDevSecrets } from '#core/edge/dev-secrets.ts';
import type { Env } from '#core/process/env.ts';
import { AppError } from '#core/errors.ts';
import { draftOf, syncFolder } from '#core/lib/durable-file.ts';
import { BACKUP_AT, writeMeta } from '#core/store/meta.ts';
import { type Command, UsageError } from './command.ts';
import { embeddedFile, openAsIs, readEnvironment } from './open.ts';

export const backup: Command = {
  usage: 'backup <file> | backup --done',
  summary: 'Copy the metadata database, even while the server runs (PostgreSQL: print the pg_dump command)',
  options: { done: { type: 'boolean' } },
  words: [0, 1],
  async run({ positionals: [name], values }, terminal) {
    if ((name === undefined) !== (values['done'] === true)) throw new UsageError('Name a file, or write --done, not both.');
    const { env } = readEnvironment(terminal);
    if (name === undefined) {
      await recordDone(env);
      terminal.out('The backup is recorded: the metrics show its age from now on.\n');
      return 0;
    }
    if (embeddedFile(env) === null) {
      terminal.out(`${dumpLine(databaseUrl(env), name)}\n`);
      terminal.err(
        `Run this command. It prompts for the password, or takes it from PGPASSWORD or the password file. Run \`sluice backup --done\` after it, for the age of the backup in the metrics.\n${notInBackup(env)}\n`,
      );
      return 0;
    }
    const target = resolve(name);
    await copyEmbedded(env, target);
    // The copy is complete, whether or not its time can be stored.
    await recordDone(env).catch(() =>
      terminal.err('The time of the backup could not be stored: its age in the metrics is wrong.\n'),
    );
    terminal.out(`The metadata database was copied to ${target}. ${notInBackup(env)}\n`);
    return 0;
  },
};

/** Stores the time of a backup, which has just ended, for the metric with its age. */
async function recordDone(env: Env): Promise<void> {
  const { store } = await openAsIs(env);
  try {
    await store.write((tx) => writeMeta(store, tx, BACKUP_AT, new Date().toISOString()));
  } finally {
    await store.close();
  }
}

/** Lists what a copy of the database does not contain. */
function notInBackup({ SVC_DATA_DIR, SVC_SQLITE_DIR }: Env): string {
  const generated =
    'SVC_ENCRYPTION_KEY' in storedDevSecrets(SVC_DATA_DIR) ? ' (generated: it is in dev-secrets.json in the data folder)' : '';
  return [
    `Back up SVC_ENCRYPTION_KEY${generated} separately: without it, no secret can be decrypted.`,
    `SQLite databases and uploaded files are in ${SVC_SQLITE_DIR}: copy this folder too.`,
  ].join(' ');
}

/** One consistent copy, readable by its owner only. */
async function copyEmbedded(env: Env, target: string): Promise<void> {
  if (existsSync(target)) throw new AppError('conflict', `There is already a file at ${target}. Name another one.`);
  const draft = draftOf(target);
  const { store } = await openAsIs(env);
  const mask = process.umask(0o077);
  try {
    await store.db.run(sql`vacuum into ${draft}`);
    checkCopy(draft);
    renameSync(draft, target);
    await syncFolder(target);
  } catch (cause) {
    rmSync(draft, { force: true });
    if (cause instanceof AppError) throw cause;
    const detail = `The copy could not be written to ${target}. Check that the folder exists and has free space.`;
    throw new AppError('unavailable', detail, { cause });
  } finally {
    process.umask(mask);
    await store.close();
  }
}

function checkCopy(file: string): void {
  const copy = new Database(file, { readonly: true });
  const { integrity_check } = copy.query('pragma integrity_check').get() as { integrity_check: string };
  copy.close();
  if (integrity_check !== 'ok') throw new AppError('internal', 'The copy was damaged and is removed. Check the disk.');
}

function dumpLine(url: string, file: string): string {
  const target = new URL(url);
  target.password = '';
  target.searchParams.delete('password');
  return `pg_dump --format=custom --file=${quoted(file)} ${quoted(target.href)}`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
