import { lstatSync, mkdirSync, rmdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { afterCommit } from '#core/platform/after-commit.ts';
import { ConnectionDraft, DB_TYPE_CHOICES } from '#core/contract/definitions/connections.ts';
import type { ConnectionFile } from '#core/contract/definitions/files.ts';
import { engineOf, FOLDER_TYPE } from '#core/engines/index.ts';
import type { FolderFiles } from '#core/engines/shared/descriptor.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { isFileNameSeen } from '#core/lib/text/hidden-characters.ts';
import { recordHistory } from '#core/records/history.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { connection } from '../connections.ts';
import { receiveFile } from './upload.ts';
import type { ConnectionRow } from '#core/sources/source-pool.ts';

export const fileHandlers: Pick<Handlers, Extract<keyof Handlers, `files.${string}`>> = {
  'files.list': async (context, { id }) => {
    const { files, settings } = await folderOf(context, id);
    const { SVC_FILES_MAX_BYTES, SVC_FILES_QUOTA_BYTES } = context.app.env;
    const { items, reading, progress } = await files.status(settings, context.app.policy);
    return {
      items: items.map((item): ConnectionFile => ({
        ...item,
        changed_at: new Date(item.changed_at).toISOString(),
        imported_at: item.imported_at === null ? null : new Date(item.imported_at).toISOString(),
      })),
      total: items.length,
      reading,
      progress,
      bytes: files.bytes(settings.database, context.app.policy),
      max_file_bytes: SVC_FILES_MAX_BYTES,
      quota_bytes: SVC_FILES_QUOTA_BYTES,
    };
  },
  'files.upload': async (context, { id, name }) => {
    const { policy, env } = context.app;
    const { files, folder, settings } = await folderOf(context, id);
    if (name === undefined) throw invalidField('name', 'name is required: the name that the file gets.');
    const unseen = isFileNameSeen(name)
      ? null
      : 'The name of the file contains a character that cannot be seen. Rename the file.';
    const fault = unseen ?? files.nameFault(name, settings.database, policy);
    if (fault !== null) throw invalidField('name', fault);
    const target = join(folder, name);
    const before = lstatSync(target, { throwIfNoEntry: false });
    if (before !== undefined && !before.isFile())
      throw invalidField('name', 'This name belongs to a folder or a link; choose another one.');
    const bytes = await receiveFile(context, {
      folder,
      target,
      max_bytes: env.SVC_FILES_MAX_BYTES,
      quota: env.SVC_FILES_QUOTA_BYTES,
      used: () => files.bytes(settings.database, policy),
      accept: async (path) => files.accept?.(path, target),
      replace: (move, size) => record(context, settings, name, { before: before?.size ?? null, after: size }, move),
    });
    await afterCommit(context.app, 'reading the files', () => context.app.sources.filesChanged());
    return { name, bytes, replaced: before !== undefined };
  },
  'files.delete': async (context, { id, name }) => {
    const { files, folder, settings } = await folderOf(context, id);
    const target = join(folder, name);
    const isOurs = files.nameFault(name, settings.database, context.app.policy) === null;
    const found = isOurs ? lstatSync(target, { throwIfNoEntry: false }) : undefined;
    if (found?.isFile() !== true) throw new AppError('not_found', 'This connection has no file with this name.');
    if (files.deleteFault !== undefined) throw new AppError('invalid', files.deleteFault);
    await record(context, settings, name, { before: found.size, after: null }, async () => unlinkSync(target));
    await afterCommit(context.app, 'reading the files', () => context.app.sources.filesChanged());
    return {};
  },
  'files.create_folder': async (context, { name }) => {
    const database = createFolder(context.app.env.SVC_SQLITE_DIR, name);
    const draft = v.parse(ConnectionDraft, { name, db_type: FOLDER_TYPE, database, read_only: true });
    try {
      return await connection.create(context, draft);
    } catch (error) {
      // Creating the connection can fail because its name is taken.
      rmdirSync(join(context.app.env.SVC_SQLITE_DIR, database));
      throw error;
    }
  },
};

/** Changes a file together with its history entry. The history has only sizes: the content of the file is not stored. */
function record(
  context: Context,
  of: ConnectionRow,
  name: string,
  { before, after }: { readonly before: number | null; readonly after: number | null },
  change: () => Promise<void>,
): Promise<void> {
  const state = (bytes: number | null) => (bytes === null ? null : { name, bytes, connection_id: of.id, connection: of.name });
  const subject = { entity_type: 'file', entity_id: of.id, entity_name: name } as const;
  return context.app.store.write(async (tx) => {
    await recordHistory(tx, context, { ...subject, before: state(before), after: state(after) });
    await change();
  });
}

/** The folder of a connection. Throws `not_found`, or `invalid` when this type of connection has no files. */
async function folderOf(context: Context, id: string) {
  const row = await connection.noun.get(context, id);
  const load = engineOf(row.db_type).files;
  if (load === undefined) {
    throw new AppError(
      'invalid',
      `Files belong to a folder of files or a SQLite connection; this one is of the type ${DB_TYPE_CHOICES[row.db_type].label}.`,
    );
  }
  const files: FolderFiles = await load();
  return { files, folder: files.folder(row.database, context.app.policy), settings: row };
}

/** Creates an empty folder with a name derived from this one. @returns its name. */
function createFolder(parent: string, name: string): string {
  mkdirSync(parent, { recursive: true });
  const plain =
    name
      .normalize('NFKD')
      .replaceAll(/\p{M}/gu, '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 60) || 'files';
  for (let n = 1; ; n++) {
    const folder = n === 1 ? plain : `${plain}-${n}`;
    try {
      mkdirSync(join(parent, folder), { mode: 0o750 });
      return folder;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
}
