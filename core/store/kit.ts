import { sql } from 'drizzle-orm';
import {
  bigint as pgBigint,
  customType as pgCustom,
  boolean as pgBoolean,
  doublePrecision as pgDouble,
  index as pgIndex,
  integer as pgInteger,
  pgTable,
  text as pgText,
  uniqueIndex as pgUnique,
} from 'drizzle-orm/pg-core';
import { customType, index, integer, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * One schema for two dialects. Field names are those of the API. Times are ISO 8601 text in UTC, which sorts correctly. JSON is
 * text in both, so that it is read exactly as written, including the order of keys.
 */
const JSON_TEXT = {
  dataType: () => 'text',
  toDriver: (value: unknown) => JSON.stringify(value),
  fromDriver: (value: string) => JSON.parse(value) as unknown,
};
const sqliteJson = customType<{ data: unknown; driverData: string }>(JSON_TEXT);
const pgJson = pgCustom<{ data: unknown; driverData: string }>(JSON_TEXT);

/** Prefix of a text that was compressed with Zstandard (RFC 8878), in base64. */
const PACKED = 'zstd:';
/** Shorter texts are not compressed. */
const PACKED_FROM = 1_000;

const pack = (text: string): string =>
  text.length < PACKED_FROM && !text.startsWith(PACKED)
    ? text
    : `${PACKED}${Bun.zstdCompressSync(text, { level: 1 }).toString('base64')}`;

const unpack = (stored: string): string =>
  stored.startsWith(PACKED) ? Bun.zstdDecompressSync(Buffer.from(stored.slice(PACKED.length), 'base64')).toString() : stored;

const PACKING = {
  dataType: () => 'text',
  toDriver: pack,
  fromDriver: unpack,
};
const sqlitePacked = customType<{ data: string; driverData: string }>(PACKING);
const pgPacked = pgCustom<{ data: string; driverData: string }>(PACKING);

/** The building blocks of tables in the embedded dialect. Its types are used for both. */
export const sqliteKit = {
  table: sqliteTable,
  text: () => text(),
  /** For texts of up to megabytes. SQL cannot search them. */
  long: () => sqlitePacked(),
  int: () => integer(),
  /** A key that the database increments. */
  counter: () => integer(),
  /** A counter for short-lived rows. Integer columns refer to it, so it restarts before it exceeds their range. */
  cyclicCounter: () => integer(),
  real: () => real(),
  bool: () => integer({ mode: 'boolean' }),
  /** False in rows that existed before the column. */
  flag: () =>
    integer({ mode: 'boolean' })
      .notNull()
      .default(sql`false`),
  json: <T>() => sqliteJson().$type<T>(),
  /** A list in JSON. Empty in rows that existed before the column. */
  list: <T>() =>
    sqliteJson()
      .$type<T>()
      .notNull()
      .default(sql`'[]'`),
  unique: (name: string) => uniqueIndex(name),
  index: (name: string) => index(name),
};

export type Kit = typeof sqliteKit;

export const pgKit = {
  table: pgTable,
  text: () => pgText(),
  long: () => pgPacked(),
  int: () => pgInteger(),
  counter: () => pgBigint({ mode: 'number' }).generatedByDefaultAsIdentity(),
  cyclicCounter: () => pgBigint({ mode: 'number' }).generatedByDefaultAsIdentity({ maxValue: 2 ** 31 - 1, cycle: true }),
  real: () => pgDouble(),
  bool: () => pgBoolean(),
  flag: () =>
    pgBoolean()
      .notNull()
      .default(sql`false`),
  json: () => pgJson(),
  list: () =>
    pgJson()
      .notNull()
      .default(sql`'[]'`),
  unique: (name: string) => pgUnique(name),
  index: (name: string) => pgIndex(name),
} as unknown as Kit;

/** Columns of every record with a version. */
export const recordColumns = (k: Kit) => ({
  id: k.text().primaryKey(),
  name: k.text().notNull(),
  version: k.int().notNull(),
  created_at: k.text().notNull(),
  updated_at: k.text().notNull(),
});

/** Columns of a credential that ends and can be rotated. */
export const endColumns = (k: Kit) => ({
  expires_at: k.text(),
  /** SHA-256 of the secret before the last rotation, which works until `rotation_ends_at`. */
  previous_digest: k.text(),
  rotation_ends_at: k.text(),
  /** The last number of days before its end at which a notice named it; null: none did. */
  warned_days: k.int(),
});
