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
 * One schema, two dialects. Field names are those of the wire; times are ISO 8601 text in UTC (they sort as text); JSON is text
 * in both, so that what was written is what is read, key order included.
 */
const JSON_TEXT = {
  dataType: () => 'text',
  toDriver: (value: unknown) => JSON.stringify(value),
  fromDriver: (value: string) => JSON.parse(value) as unknown,
};
const sqliteJson = customType<{ data: unknown; driverData: string }>(JSON_TEXT);
const pgJson = pgCustom<{ data: unknown; driverData: string }>(JSON_TEXT);

/** Before the base64 of a text that was compressed with Zstandard (RFC 8878). */
const PACKED = 'zstd:';
/** Shorter ones are stored as they are. */
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

/** What tables are made of, in the embedded dialect; its types stand for both. */
export const sqliteKit = {
  table: sqliteTable,
  text: () => text(),
  /** A text that may be megabytes; SQL cannot look into it. */
  long: () => sqlitePacked(),
  int: () => integer(),
  /** A key that the database counts up. */
  counter: () => integer(),
  /** The same of rows that are not kept for long: integer columns name them, so it starts again before those are full. */
  cyclicCounter: () => integer(),
  real: () => real(),
  bool: () => integer({ mode: 'boolean' }),
  /** False in rows that are older than the column. */
  flag: () =>
    integer({ mode: 'boolean' })
      .notNull()
      .default(sql`false`),
  json: <T>() => sqliteJson().$type<T>(),
  /** A list in JSON, empty in rows that are older than the column. */
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

/** Of every record that has a version. */
export const recordColumns = (k: Kit) => ({
  id: k.text().primaryKey(),
  name: k.text().notNull(),
  version: k.int().notNull(),
  created_at: k.text().notNull(),
  updated_at: k.text().notNull(),
});
