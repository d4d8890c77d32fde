import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import type { Network } from '#core/process/env/settings.ts';
import type { Log } from '#core/process/log.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import type { ViewPage } from './registry/view-page.ts';
import type { AuthSettings } from './auth/authorise.ts';
import type { ListFile } from './auth/list-file.ts';
import type { KeptInstallation } from './control/own-installation.ts';
import type { RateSettings } from './limits/rate-limit.ts';
import type { BesideFiles } from './control/side-snapshot-files.ts';
import type { SnapshotFile } from './control/snapshot-file.ts';
import type { OpenPool } from './connections/connection-pools.ts';
import type { Address } from './transports/listener.ts';

/** What a host is made of. */
export interface HostOptions {
  /** Stable name of this host; its boot id is new at every start. */
  readonly id: string;
  readonly boot_id: string;
  readonly server_url: string;
  readonly service_token: string;
  /** Where the host listens until its first snapshot says otherwise. */
  readonly address: Address;
  /** Origin under which the server reaches this host; that of the listener when absent. */
  readonly url?: string;
  readonly allowed_hosts: readonly string[];
  /** Where the domains that the server sends are kept; absent: nowhere. */
  readonly names_path?: string;
  /** Where sessions that their clients ended are kept; absent: nowhere. */
  readonly ended_path?: string;
  /** Proxies in front of the host, whose word on the caller's address counts. */
  readonly trusted_proxies?: readonly Network[];
  /** Nothing is served that anyone who reaches the port could call. */
  readonly require_auth?: boolean;
  /** False: it listens nowhere, and serves only who is connected to it. */
  readonly network?: boolean;
  /** Called with the configuration before anything is served by it. */
  readonly onServe?: (server: FrozenServer) => void;
  readonly openSource: OpenPool;
  readonly openSecret: (sealed: string, place: string) => string;
  /** Sealed with another key than the first: the server has the snapshot sealed anew. */
  readonly staleSecret?: (sealed: string) => boolean;
  readonly file: SnapshotFile;
  /** Where the id of the host's installation is kept; absent: nowhere. */
  readonly installation?: ListFile<KeptInstallation>;
  /** Where configurations beside the live one are kept; absent: nowhere. */
  readonly beside?: BesideFiles;
  readonly auth: AuthSettings;
  /** The page that draws results in clients with MCP Apps; absent: results are not drawn. */
  readonly view_page?: ViewPage | null;
  readonly rates?: RateSettings;
  /** Where the hosts of an installation keep limits together; without it this host keeps its own. Closed with the host. */
  readonly redis?: RedisLimits | null;
  /** Collector of traces (OTLP over HTTP). */
  readonly otlp_endpoint?: string | null;
  /** Bearer token of who may read metrics. */
  readonly metrics_token?: string | null;
  readonly log: Log;
  readonly now?: () => number;
  /** Monotonic ms, for blocks and lifetimes that setting the clock must not lengthen. */
  readonly ticks?: () => number;
  /** How long running calls may go on after a stop or an end. */
  readonly grace_ms?: number;
  readonly keep_alive_ms?: number;
  readonly retry_ms?: { readonly min: number; readonly max: number };
}
