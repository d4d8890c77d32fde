import * as v from 'valibot';
import { byId, Id, listOf, textBetween, Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';
import { Connection } from './connections.ts';
import { Thousands } from './file-settings.ts';

const FileName = textBetween(1, 255);

/** A suggestion for reading a column differently. */
export const ColumnOffer = v.object({
  column: v.string(),
  kind: v.picklist(['numbers', 'empty']),
  thousands: v.pipe(
    v.array(Thousands),
    v.description('Thousands separators that fit all values; two when the values are ambiguous'),
  ),
});
export type ColumnOffer = v.InferOutput<typeof ColumnOffer>;

/** A file in a connection's folder, with the result of reading it. */
export const ConnectionFile = v.object({
  name: v.string(),
  bytes: v.number(),
  changed_at: Timestamp,
  /** The key of its entry in the connection's `files` setting: its name, or a pattern that matches it. */
  key: v.string(),
  tables: v.array(
    v.object({
      schema: v.string(),
      name: v.string(),
      rows: v.number(),
      columns: v.array(v.object({ name: v.string(), type: v.string() })),
    }),
  ),
  imported_at: v.nullable(Timestamp),
  rejected_rows: v.pipe(v.number(), v.description('Lines that were left out')),
  rejected: v.pipe(
    v.array(v.object({ line: v.number(), column: v.nullable(v.string()), reason: v.string() })),
    v.description('The first of them'),
  ),
  notes: v.array(v.string()),
  offers: v.pipe(
    v.array(ColumnOffer),
    v.description('Text columns that contain numbers with thousands separators, and columns without values'),
  ),
  error: v.pipe(
    v.nullable(v.object({ message: v.string(), line: v.nullable(v.number()) })),
    v.description('Why the file could not be read; its tables are those of the last time that it could'),
  ),
});
export type ConnectionFile = v.InferOutput<typeof ConnectionFile>;

export const ConnectionFiles = v.object({
  ...listOf(ConnectionFile).entries,
  reading: v.pipe(v.boolean(), v.description('Files that changed are still being read; what is listed may be older')),
  progress: v.pipe(
    v.nullable(v.object({ done: v.number(), of: v.number(), key: v.nullable(v.string()) })),
    v.description('While they are being read: how many are done, of how many, and the file or pattern that is read now'),
  ),
  bytes: v.pipe(v.number(), v.description('Of all files of the folder')),
  max_file_bytes: v.number(),
  quota_bytes: v.number(),
});
export type ConnectionFiles = v.InferOutput<typeof ConnectionFiles>;

export const files = {
  'files.list': operation('GET /connections/{id}/files', 'read', {
    input: byId,
    output: ConnectionFiles,
    summary: 'List the files of a folder, with their tables and what is wrong with them, or the file of a SQLite connection',
  }),
  'files.upload': operation('POST /connections/{id}/files', 'write', {
    file: true,
    needs: ['name'],
    input: v.strictObject({ id: Id, name: v.optional(v.pipe(FileName, v.description('The name that the file gets'))) }),
    output: v.object({ name: v.string(), bytes: v.number(), replaced: v.boolean() }),
    status: 201,
    summary:
      'Put a file into a folder, or replace a SQLite database; a file of the same name is replaced at once when all has arrived',
  }),
  'files.delete': operation('DELETE /connections/{id}/files/{name}', 'write', {
    input: v.strictObject({ id: Id, name: FileName }),
    output: v.strictObject({}),
    status: 204,
    summary: 'Delete a file from the folder of a connection',
  }),
  'files.create_folder': operation('POST /connections/folder', 'write', {
    input: v.strictObject({ name: textBetween(1, 60) }),
    output: Connection,
    status: 201,
    summary: 'Create an empty folder of files and connect it',
  }),
};
