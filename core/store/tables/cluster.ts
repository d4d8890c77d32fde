import type { Kit } from '../kit.ts';

/** State that the servers of an installation share. Times are seconds by the clock of the database, which is the same for all. */
export function clusterTables(k: Kit) {
  /** MCP hosts that are connected to any server, with their last report. */
  const hosts = k.table('hosts', {
    id: k.text().primaryKey(),
    /** The server with the connection to the host, and the id of that connection. */
    server: k.text().notNull(),
    connection: k.text().notNull(),
    connected_at: k.text().notNull(),
    /** The server renews this time while the host is connected. */
    seen_at: k.real().notNull(),
    /** The host's last sign of life that arrived at another server. */
    signed_at: k.real(),
    /** Number of the host's answers. An answer may arrive at any server. */
    acks: k.int().notNull(),
    url: k.text(),
    /** The address from which it is connected, and the version of its program. */
    address: k.text(),
    program_version: k.text(),
    snapshot_version: k.int(),
    checksum: k.text(),
    load_ms: k.real(),
    error: k.text(),
    disk_fault: k.text(),
    /** The last address that the host should try to listen on, and the error. */
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
