import { guardedFetch } from '#core/engines/shared/dial.ts';
import type { Network } from '#core/engines/shared/network.ts';
import { openSource } from '#core/engines/index.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { createSavedCopies } from '#core/lib/saved-copies.ts';
import type { Log } from '#core/process/log.ts';
import { createAppViews } from '#mcp-host/call/app-views.ts';
import { type Auth, createAuth } from '#mcp-host/auth/authenticate.ts';
import { createCandidateAuth } from '#mcp-host/auth/candidates.ts';
import { createResultCache } from '#mcp-host/call/cache.ts';
import { createConfirmations } from '#mcp-host/call/confirmation/confirmations.ts';
import { createCancelsElsewhere } from '#mcp-host/requests/running-calls.ts';
import { NO_FILES } from '#mcp-host/call/files/file-links.ts';
import { createPageCursors } from '#mcp-host/call/page-cursors.ts';
import { createRunningCalls, drain } from '#mcp-host/requests/running-calls.ts';
import type { RateLimits } from '#mcp-host/limits/rate-limit.ts';
import { healthOf } from '#mcp-host/observe/health.ts';
import type { Usage } from '#mcp-host/observe/usage.ts';
import { NO_SAMPLES } from '#mcp-host/call/samples.ts';
import { createDispatch } from '#mcp-host/dispatch/dispatch.ts';
import { RPC } from '#mcp-host/protocol/messages.ts';
import { refuse } from '#mcp-host/protocol/replies.ts';
import { createSessionIds } from '#mcp-host/requests/session-ids.ts';
import { createSessions } from '#mcp-host/requests/sessions.ts';
import type { Streams } from '#mcp-host/dispatch/streams.ts';
import { ENDING } from '#mcp-host/dispatch/serving.ts';
import { refuseReference } from '#core/lib/secrets.ts';
import { type ConnectionPools, createConnectionPools } from '#mcp-host/connections/connection-pools.ts';
import type { Views } from '#mcp-host/registry/views.ts';
import { createHttp, type HostFetch } from '#mcp-host/transports/http.ts';
import { createSse } from '#mcp-host/transports/sse.ts';
import type { IssuerMemory } from './issuer-memory.ts';
import type { LoadedBundle } from './load.ts';

export interface EdgeOptions {
  readonly bundle: LoadedBundle;
  readonly network: Network;
  /** Names accepted in the Host header besides loopback names and IP literals. */
  readonly allowed_hosts: ReadonlySet<string>;
  readonly limits: RateLimits;
  readonly views: Views;
  readonly streams: Streams;
  readonly issuers: IssuerMemory;
  readonly log: Log;
  /** Whether pools stay open between calls. Otherwise each call opens and closes its connections. */
  readonly keeps_pools: boolean;
  /** Whether the platform compresses answers. */
  readonly compressed_outside: boolean;
  /** Called with work that continues after an answer. */
  readonly onClosing: (closing: Promise<void>) => void;
  readonly started_at: number;
}

export interface EdgeHost {
  readonly fetch: HostFetch;
  /** Called regularly: ends idle sessions, and keeps streams open. */
  keepAlive(): void;
  /** Takes no new calls, waits for those that run, at most `grace_ms`, ends streams and closes every pool. */
  close(grace_ms: number): Promise<void>;
}

/** A host of one bundle: the parts of the host that need no server, no disk and no listener. */
export async function createEdgeHost(options: EdgeOptions): Promise<EdgeHost> {
  const { bundle, limits, views, streams, log } = options;
  const { registry, lacks } = bundle;
  // The bundle has no secret of an installation. With a random key, no request can pass as one of an installation's server.
  const random_key = crypto.randomUUID();
  // The owner of the bundle decided on the addresses, so private networks are allowed.
  const policy: DialPolicy = { allow_private_networks: true, forbidden: [], sqlite_dir: '/', network: options.network };
  const sources = openPools(options, policy);
  // A session id is not a credential: it is accepted only from the caller that it was issued to, so its key need not be secret.
  const sessions = createSessions({ now, ids: createSessionIds([registry.checksum]) });
  const cache = createResultCache(ticks);
  cache.use(registry);
  const auth = await openAuth(options, random_key, policy);
  const usage = callLines(log);
  const cancels = createCancelsElsewhere(null, []);
  const running = createRunningCalls({ prefix: random_key, now, elsewhere: cancels });
  const dispatch = createDispatch({
    sources,
    samples: NO_SAMPLES,
    sessions,
    streams,
    usage,
    cache,
    limits,
    observe: () => undefined,
    log,
    now,
    running,
    cancels,
    pseudonym: bundle.pseudonym,
    pages: createPageCursors([]),
    files: NO_FILES,
    file_pages: null,
    confirmations: createConfirmations({
      keys: [],
      redis: null,
      host: random_key,
      page_origin: () => null,
      holds: () => true,
      now,
      ticks,
    }),
    app_views: createAppViews(bundle.view_page),
  });
  let ending = false;
  const idle = (): string | null => (ending ? ENDING : lacks);
  const serving = () => {
    const why = idle();
    if (why === null) return registry;
    return { idle: why, cors_origins: registry.server.cors_origins, held: lacks === null ? registry : null };
  };
  const answer = createHttp({
    dispatch,
    arriving: running.arriving,
    auth,
    allowed_hosts: () => options.allowed_hosts,
    service_token: random_key,
    trusted_proxies: [],
    sse: createSse({ dispatch, serving, views, streams, log }),
    views,
    serving,
    // A bundle serves one version, without candidates and canaries.
    canary: () => null,
    servingAt: ({ candidate }) => (candidate === null ? serving() : undefined),
    candidates: createCandidateAuth(() => null, auth.attempts, now),
    compressed_outside: options.compressed_outside,
    health: () =>
      healthOf({
        serving: registry,
        idle: idle(),
        waiting: false,
        uptime_ms: now() - options.started_at,
        sessions: sessions.count(),
        streams: streams.count(),
        usage_dropped: usage.dropped(),
        access_tokens: { as_of: auth.tokens_as_of(), current: false },
        control: { connected: false, last_event_at: null },
        not_saved: [],
        connections: sources.counters(),
      }),
    health_is_readiness: true,
    probes: () => null,
    refused: (status) => log.debug('refused', { status }),
  });
  return {
    async fetch(request, peer) {
      try {
        return await answer(request, peer);
      } catch (error) {
        log.error('request_failed', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
        return refuse(500, 'The server failed. See its log.', undefined, { code: RPC.internal });
      }
    },
    keepAlive() {
      streams.keepAlive();
      sessions.sweep();
    },
    async close(grace_ms) {
      ending = true;
      await drain(running, grace_ms, ENDING);
      streams.end();
      await sources.close();
    },
  };
}

const now = Date.now;
const ticks = (): number => performance.now();

function openPools({ bundle, log, keeps_pools, onClosing }: EdgeOptions, policy: DialPolicy): ConnectionPools {
  const sources = createConnectionPools({
    secrets: { open: bundle.openSecret, resolve: refuseReference },
    log,
    async open(settings) {
      const source = await openSource(settings, policy);
      return {
        ...source,
        close() {
          const closed = source.close();
          onClosing(closed);
          return closed;
        },
      };
    },
  });
  if (keeps_pools) sources.use(bundle.registry.connections);
  return sources;
}

async function openAuth(options: EdgeOptions, random_key: string, policy: DialPolicy): Promise<Auth> {
  const { bundle, issuers, log } = options;
  const { registry } = bundle;
  const toolsets = [...registry.toolsets.values()];
  const auth = createAuth({
    tokens: { read: () => Promise.resolve(bundle.tokens), write: () => Promise.resolve() },
    foreign_keys: issuers.keys,
    // A bundle writes no files.
    copies: createSavedCopies({ onChange: () => undefined }),
    keys: [random_key],
    public_url: bundle.public_url,
    ask: issuers.remembering((url, init) => guardedFetch(url, init, policy)),
    openSecret: bundle.openSecret,
    local_url: () => `http://127.0.0.1:${registry.server.port}`,
    names: () => options.allowed_hosts,
    toolsets: () => toolsets,
    log,
    now,
    ticks,
  });
  await auth.load();
  auth.prepare(registry.server);
  return auth;
}

/** Writes each call as a line to the console of the platform. */
function callLines(log: Log): Usage {
  return {
    add: ({ of: { kind, name, client, token_prefix }, duration_ms, rows, bytes, fault }) =>
      log.info('call', { kind, name, client, token_prefix, duration_ms, rows, bytes, error: fault?.code ?? null }),
    addList: () => undefined,
    flush: () => Promise.resolve(),
    dropped: () => 0,
    close: () => undefined,
  };
}
