import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import type { Network } from '#core/process/env/settings.ts';
import type { SecretReader } from '#core/lib/secrets.ts';
import type { Log } from '#core/process/log.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import type { ViewPage } from './registry/view-page.ts';
import type { AuthSettings } from './auth/authenticate.ts';
import type { ListFile } from './auth/list-file.ts';
import type { StoredInstallation } from './control/own-installation.ts';
import type { RateSettings } from './limits/rate-limit.ts';
import type { BesideFiles } from './control/side-snapshot-files.ts';
import type { SignedListsEvent } from '#core/contract/deploy/signed-lists.ts';
import type { SnapshotFile } from './control/snapshot-file.ts';
import type { OpenPool } from './connections/connection-pools.ts';
import type { Address } from './transports/listener.ts';
import type { Collector } from './observe/tracing-recorder.ts';

/** The settings and dependencies of a host. */
export interface HostOptions {
  /** Stable name of this host; its boot id is new at every start. */
  readonly id: string;
  readonly boot_id: string;
  readonly server_url: string;
  readonly service_token: string;
  /** The address to listen on until the first snapshot sets another one. */
  readonly address: Address;
  /** Origin at which the server reaches this host; absent: the origin of the listener. */
  readonly url?: string;
  readonly allowed_hosts: readonly string[];
  /** File for the domains that the server sends; absent: they are not stored. */
  readonly names_path?: string;
  /** File for sessions that their clients ended; absent: they are not stored. */
  readonly ended_path?: string;
  /** Proxies in front of the host, which are trusted to state the caller's address. */
  readonly trusted_proxies?: readonly Network[];
  /** Refuses snapshots that any caller who reaches the port could call. */
  readonly require_auth?: boolean;
  /** False: the host does not listen, and serves only its connected peer. */
  readonly network?: boolean;
  /** Called with a configuration before it is served. */
  readonly onServe?: (server: FrozenServer) => void;
  readonly openSource: OpenPool;
  readonly openSecret: (sealed: string, path: string) => string;
  /** Reads the secret of a reference; absent: references are refused. */
  readonly resolveSecret?: SecretReader['resolve'];
  /** Whether a secret was sealed with another key than the first. The host then requests the snapshot again. */
  readonly staleSecret?: (sealed: string) => boolean;
  readonly file: SnapshotFile;
  /** The folder with the host's files, whose disk is measured; absent: none. */
  readonly folder?: string;
  /** File for the id of the host's installation; absent: it is not stored. */
  readonly installation?: ListFile<StoredInstallation>;
  /** Files for configurations beside the live one; absent: they are not stored. */
  readonly beside?: BesideFiles;
  /** File for the signatures of definitions; absent: they are not stored. */
  readonly signed?: ListFile<SignedListsEvent>;
  readonly auth: AuthSettings;
  /** The page that draws results in clients with MCP Apps; absent: results are not drawn. */
  readonly view_page?: ViewPage | null;
  readonly rates?: RateSettings;
  /** The Redis in which the hosts of an installation share limits; absent: this host counts alone. Closed with the host. */
  readonly redis?: RedisLimits | null;
  /** Absent: nothing is traced. */
  readonly collector?: Collector | null;
  /** Bearer token for reading metrics. */
  readonly metrics_token?: string | null;
  readonly log: Log;
  readonly now?: () => number;
  /** Monotonic, in ms, so that a change of the clock does not lengthen blocks and lifetimes. */
  readonly ticks?: () => number;
  /** How long running calls may continue after a stop. */
  readonly grace_ms?: number;
  readonly keep_alive_ms?: number;
  readonly retry_ms?: { readonly min: number; readonly max: number };
}
