import type { Kit } from '../kit.ts';

/** What the servers of one installation tell each other. Times are seconds by the clock of the database, the one that they share. */
export function clusterTables(k: Kit) {
  /** Connected MCP hosts, whichever server they are connected to, and what they said last. */
  const hosts = k.table('hosts', {
    id: k.text().primaryKey(),
    /** The server that holds the connection, and its name for the connection. */
    server: k.text().notNull(),
    connection: k.text().notNull(),
    connected_at: k.text().notNull(),
    /** The server says again and again that the host is there. */
    seen_at: k.real().notNull(),
    /** How often the host answered; an answer may reach any server. */
    acks: k.int().notNull(),
    url: k.text(),
    snapshot_version: k.int(),
    checksum: k.text(),
    load_ms: k.real(),
    error: k.text(),
    /** The last address that the host was asked to open, and why it could not. */
    probe: k.text(),
    probe_error: k.text(),
  });
  /** Work that one server does at a time. */
  const leases = k.table('leases', {
    name: k.text().primaryKey(),
    holder: k.text().notNull(),
    until: k.real().notNull(),
  });
  return { hosts, leases };
}
