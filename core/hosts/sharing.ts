import type { HostState } from '#core/contract/deploy/deploy.ts';
import type { Acknowledgement, HostOrigin, SignOfLife } from '#core/contract/deploy/control.ts';

/** A host as the servers of an installation share it through the database. */
export interface SharedHost extends HostState {
  /** Id of its present connection, to any server. */
  readonly connection: string;
  readonly acks: number;
  readonly checksum: string | null;
  readonly load_ms: number | null;
  readonly probe: string | null;
  readonly probe_error: string | null;
  /** The last sign of life that another server than the one with the connection received, by the database's clock. */
  readonly signed_at: number | null;
}

/** The connection of a host to this server. */
export interface ConnectedHost {
  readonly connection: string;
  readonly connected_at: string;
  readonly origin: HostOrigin;
}

/** Shares the hosts of this server with other servers. */
export interface Sharing {
  connected(id: string, host: ConnectedHost): void;
  gone(id: string, connection: string): void;
  acknowledged(id: string, ack: Acknowledgement): void;
  /** A host has given a sign of life that other servers do not know of: it is connected to one of them, or its state changed. */
  alive(id: string, sign: SignOfLife): void;
  /** Whether the signs of life that other servers receive arrive here. */
  readable(): boolean;
  /** A host has confirmed the list of this name. */
  confirmed(id: string, list: string): void;
  probe(request: { readonly host: string; readonly port: number; readonly request_id: string }): Promise<void>;
  /** Reads the hosts of other servers. */
  refresh(): Promise<void>;
  /** Resolves when other servers can read everything that was shared so far. */
  settled(): Promise<void>;
}

/** A single server shares nothing. */
export const ALONE: Sharing = {
  connected: () => undefined,
  gone: () => undefined,
  acknowledged: () => undefined,
  alive: () => undefined,
  readable: () => true,
  confirmed: () => undefined,
  probe: async () => undefined,
  refresh: async () => undefined,
  settled: async () => undefined,
};
