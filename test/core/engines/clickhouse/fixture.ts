import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';

export const SETTINGS: ConnectionSettings = {
  db_type: 'clickhouse',
  host: '127.0.0.1',
  port: null,
  database: 'shop',
  username: null,
  password: null,
  ssl_mode: 'disable',
  ssl_ca: null,
  ssl_cert: null,
  ssl_key: null,
  extra_params: {},
  pool_size: 2,
};

/** Understood by the old server and the current engine. */
export const SHOP: readonly string[] = [
  'CREATE DATABASE shop',
  `CREATE TABLE shop.item (id UInt32, name Nullable(String) DEFAULT 'none' COMMENT 'As printed', price Nullable(Decimal(10, 2)),
     state Enum8('new' = 1, 'it\\'s old' = 2), big UInt64, seen DateTime('UTC'), born Nullable(Date), tags Array(String))
   ENGINE = MergeTree() ORDER BY id`,
  `INSERT INTO shop.item VALUES (1, 'pen', 1.50, 'new', 9007199254740993, '2026-01-02 03:04:05', '2026-01-02', ['a', 'b\\'']),
     (2, 'ünïcode 😀 "quoted" \\n\\t\\\\', 2, 'it\\'s old', 5, '2026-02-01 00:00:00', NULL, []),
     (3, NULL, NULL, 'new', 0, '2026-02-01 00:00:00', NULL, [''])`,
  'CREATE VIEW shop.cheap AS SELECT id, name FROM shop.item WHERE id < 2',
  'CREATE DATABASE other',
  'CREATE TABLE other.item (x Int32) ENGINE = Memory',
  'CREATE TABLE shop.victim (id Int32) ENGINE = Memory',
  'INSERT INTO shop.victim VALUES (1)',
];

/** Works for as long as nobody stops it. */
export const ENDLESS = 'SELECT count() AS n FROM system.numbers WHERE number % 7 = 8';
