import type { Network } from '#core/env.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import type { LiveToken } from '#core/deploy/hosts.ts';
import { LOG_LEVELS, type LogLevel } from '#core/contract/log-levels.ts';
import type { Log } from '#core/log.ts';
import { AppError } from '#core/errors.ts';
import { secretsIn } from '#core/lib/places.ts';
import type { Shares } from '#core/cluster/shares.ts';
import type { Stop } from '#core/engines/shared/stop.ts';
import type { SnapshotFile } from './swap/snapshot-file.ts';
import type { FrozenServer } from '#snapshots/format.ts';
import { type AuthSettings, createAuth } from './auth/authorise.ts';
import type { Caller } from './auth/scheme.ts';
import { createResultCache } from './call/cache.ts';
import { type ControlEvent, createControl, type ListenEvent } from './swap/control.ts';
import { createDispatch } from './protocol/dispatch.ts';
import { drain } from './swap/drain.ts';
import { type HostHealth, healthOf } from './observe/health.ts';
import { createHostNames } from './swap/host-names.ts';
import { createLines } from './observe/lines.ts';
import { type Address, createListener, type Listener, NO_LISTENER } from './transports/listener.ts';
import { changedLists, LIST_KINDS, loadRegistry, type Registry } from './swap/registry.ts';
import { requireAuth } from './auth/required-auth.ts';
import { createSessionIds } from './protocol/session-ids.ts';
import { createSessions } from './protocol/sessions.ts';
import { createMetrics } from './observe/metrics.ts';
import { createProbes } from '#core/edge/probes.ts';
import { readinessOf } from './observe/probes.ts';
import { createPlaceLeases } from './limits/leases.ts';
import { createRateLimits, type RateSettings } from './limits/rate-limit.ts';
import { createSources, type OpenPool } from './swap/sources.ts';
import { createStreams } from './protocol/streams.ts';
import { type Bridge, createBridge } from './transports/bridge.ts';
import { createHttp, type HostFetch } from './transports/http.ts';
import { createSse } from './transports/sse.ts';
import { createSnapshotTaker } from './swap/take-snapshot.ts';
import { createUpdates } from './protocol/updates.ts';
import { createTracing } from './observe/tracing.ts';
import { createUsage } from './observe/usage.ts';
import type { Watch } from './call/request-record.ts';

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
  /** Where the domains that the server told are kept; absent: nowhere. */
  readonly names_path?: string;
  /** Proxies in front of the host, whose word on the caller's address counts. */
  readonly trusted_proxies?: readonly Network[];
  /** Nothing is served that anyone who reaches the port could call. */
  readonly require_auth?: boolean;
  /** False: it listens nowhere, and serves only who is connected to it. */
  readonly network?: boolean;
  /** Is told the configuration before anything is served by it. */
  readonly onServe?: (server: FrozenServer) => void;
  readonly openSource: OpenPool;
  readonly openSecret: (sealed: string, place: string) => string;
  /** Sealed with another key than the first: the server has the snapshot sealed anew. */
  readonly staleSecret?: (sealed: string) => boolean;
  readonly file: SnapshotFile;
  readonly auth: AuthSettings;
  readonly rates?: RateSettings;
  /** Where the hosts of an installation keep limits together; without it this host keeps its own. Closed with the host. */
  readonly shares?: Shares | null;
  /** Collector of traces (OTLP over HTTP). */
  readonly otlp_endpoint?: string | null;
  /** Bearer token of who may read figures. */
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

export interface Host {
  /** Serves what is on disk, then follows the server. */
  start(): Promise<void>;
  /** Ends streams, lets running calls finish for at most `grace_ms`, closes pools and listeners. */
  stop(grace_ms: number): Promise<void>;
  readonly fetch: HostFetch;
  /** Serves one peer of this machine, who needs no credential. */
  connect(send: (text: string) => void): Bridge;
  url(): string | null;
  health(): HostHealth;
}

const WAITING = 'Nothing is deployed here yet. Deploy in the Sluice UI, then try again.';
const STOPPED = 'The server is stopped. Deploy to start it again.';
/** Who started the program has its environment, and with it every secret. */
const LOCAL: Caller = { owner: 'local', token_prefix: null };
const ENDING = 'The host is shutting down. Try again in a moment.';

/** The data plane: holds one registry, swaps it, and keeps serving while the server is away. */
export function createHost(options: HostOptions): Host {
  const { log, file, boot_id, shares = null, now = Date.now, grace_ms = 10_000, keep_alive_ms = 15_000 } = options;
  const { ticks = options.now ?? (() => performance.now()) } = options;
  const started_at = now();
  const running = new Set<Pick<Stop, 'abort'>>();
  const sources = createSources({ open: options.openSource, openSecret: options.openSecret, log });
  const sessions = createSessions({
    now,
    ids: createSessionIds(options.auth.keys),
    onEnd: ({ version, opened_at }) => metrics.endSession(version, now() - opened_at),
  });
  const streams = createStreams();
  /** What the host has; served unless there is a reason to be idle. */
  let held: Registry | null = null;
  let idle: string | null = WAITING;
  /** The copy on disk was sealed before the keys were rotated: it is asked for again, or it would end with the old key. */
  let stale = false;
  /** Why the copy on disk was not taken, until a newer one is. */
  let file_fault: string | null = null;

  const control = createControl({
    server_url: options.server_url,
    service_token: options.service_token,
    id: options.id,
    log,
    now,
    ...(options.retry_ms && { min_retry_ms: options.retry_ms.min, max_retry_ms: options.retry_ms.max }),
    have: () => (held === null || stale ? '' : `${held.snapshot_version}:${held.checksum}`),
    onEvent,
  });
  const names = createHostNames({ always: options.allowed_hosts, path: options.names_path ?? null, log });
  const lines = createLines();
  log.tap((line) => lines.add(line));
  const auth = createAuth({
    ...options.auth,
    openSecret: options.openSecret,
    local_url: () => localUrl(listener, held),
    names: () => names.accepted(),
    log,
    now,
    ticks,
  });
  const usage = createUsage({
    send: (batch) => control.post('usage', { boot_id, ...batch }),
    log,
    lines,
    queues: () => sources.gauges(),
    takeUses: () => auth.takeUses(),
  });
  const cache = createResultCache(ticks);
  const limits = createRateLimits({ ...(options.rates ?? { tool_per_minute: 0, caller_per_minute: 0 }), shares });
  const leases = shares && createPlaceLeases({ shares, owner: `${options.id}/${boot_id}`, queues: () => sources.queues(), log });
  const tracing = createTracing({ endpoint: options.otlp_endpoint ?? null, id: options.id, log });
  const metrics = createMetrics({
    sources,
    limits,
    state: () => ({
      snapshot_version: held?.snapshot_version ?? null,
      checksum: held?.checksum ?? null,
      sessions: sessions.count(),
      streams: streams.count(),
      usage_dropped: usage.dropped(),
      connected: control.state().connected,
      shared_limits: shares && shares.up(),
    }),
  });
  const observe = (watch: Watch) => {
    metrics.add(watch);
    tracing.add(watch);
  };
  const dispatch = createDispatch({ sources, sessions, streams, usage, cache, limits, observe, log, now, running });
  const serving = () =>
    held !== null && idle === null ? held : { idle: idle ?? WAITING, cors_origins: held?.server.cors_origins ?? [] };
  const fetch = createHttp({
    dispatch,
    auth,
    allowed_hosts: () => names.accepted(),
    service_token: options.service_token,
    trusted_proxies: options.trusted_proxies ?? [],
    sse: createSse({ dispatch, serving, streams, log }),
    serving,
    health: () => health(),
    probes: createProbes({
      service_token: options.service_token,
      metrics_token: options.metrics_token ?? null,
      readiness: () => readinessOf({ idle, fault: file_fault, connected: control.state().connected, shares }),
      metrics: () => metrics.text(),
    }),
    refused: (status) => metrics.refuse(status),
  });
  const listener =
    options.network === false
      ? NO_LISTENER
      : createListener({ fetch, endStreams: (number) => streams.end(number), grace_ms, log });
  const keepAlive = setInterval(() => {
    streams.keepAlive();
    sessions.sweep();
    dismiss();
    void auth.keep();
  }, keep_alive_ms);
  keepAlive.unref();

  /** Ends what callers opened whose credential does not count any more. */
  function dismiss(): void {
    const server = held?.server;
    if (server === undefined) return;
    const isGone = (owner: string) => owner !== LOCAL.owner && !auth.holds(owner, server);
    sessions.endOf(isGone);
    streams.endOf(isGone);
  }

  const swap = (next: Registry) => {
    const before = idle === null ? held : null;
    options.onServe?.(next.server);
    sources.use(next.connections);
    leases?.refresh();
    cache.use(next);
    metrics.use(next);
    tracing.use(next.server);
    held = next;
    idle = null;
    const level = LOG_LEVELS.find((known) => known === next.server.log_level.toUpperCase());
    if (level !== undefined) log.setLevel(level satisfies LogLevel);
    streams.announce(changedLists(before, next), sessions.all(), createUpdates(before, next));
    if (before !== null && before.server.transport !== next.server.transport) streams.end();
    dismiss();
  };

  /** From now on nothing is served; calls that run may finish. */
  const pause = (reason: string) => {
    const was_serving = idle === null;
    idle = reason;
    if (was_serving) streams.announce(LIST_KINDS, sessions.all());
    streams.end();
    sources.use([]);
  };

  let acknowledging: Promise<void> = Promise.resolve();
  /** One after the other, in the background: a server that does not take them holds up no event. */
  const acknowledge = (answer: { request_id?: string; error?: string; load_ms?: number; nothing?: true }): void => {
    const serving = answer.nothing === true ? null : held;
    const ack = {
      boot_id,
      version: serving?.snapshot_version ?? null,
      checksum: serving?.checksum ?? null,
      load_ms: answer.load_ms ?? null,
      url: options.url ?? listener.current()?.url ?? null,
      pid: process.pid,
      error: answer.error ?? null,
      request_id: answer.request_id ?? null,
      ok: answer.error === undefined,
    };
    acknowledging = acknowledging
      .then(() => control.post('ack', ack))
      .catch((error: unknown) => log.warning('ack_not_sent', { error: String(error) }));
  };

  /** What is acknowledged survives a restart; a full disk does not keep the host from serving. */
  const keep = (write: () => Promise<void>) =>
    write().catch((error: unknown) => log.error('snapshot_not_kept', { error: String(error) }));
  const snapshots = createSnapshotTaker({
    file,
    log,
    now,
    held: () => held,
    isStale: () => stale,
    async take(registry, fresh) {
      requireAuth(registry.server, options);
      await listener.use(registry.server);
      if (fresh) stale = false;
      swap(registry);
    },
    keep: (draft) =>
      keep(async () => {
        await (await draft?.())?.keep();
        file_fault = null;
        await file.setStopped(false);
      }),
    acknowledge,
    askForAll() {
      stale = true;
      control.again();
    },
  });
  const onListen = async ({ request_id, ...address }: ListenEvent) => {
    try {
      await listener.prepare(address);
      acknowledge({ request_id });
    } catch (error) {
      acknowledge({ request_id, error: error instanceof AppError ? error.detail : 'The host could not open the address.' });
    }
  };
  const onTokens = (tokens: readonly LiveToken[]) => {
    const kept = auth.useTokens(tokens);
    dismiss();
    return kept;
  };
  const onStop = async () => {
    pause(held === null ? WAITING : STOPPED);
    log.info('stopped');
    void drain(running, grace_ms, STOPPED);
    await keep(() => file.setStopped(true));
    acknowledge({ nothing: true });
  };
  function onEvent(event: ControlEvent): Promise<void> {
    if (event.event === 'snapshot') return snapshots.take(event.data);
    if (event.event === 'tokens') return onTokens(event.data.tokens);
    if (event.event === 'names') return names.use(event.data.names);
    return event.event === 'listen' ? onListen(event.data) : onStop();
  }

  /** The address of an ended program may be busy for a while. */
  const bind = async (address: Address): Promise<void> => {
    try {
      await listener.use(address);
    } catch (error) {
      log.error('listen_failed', { host: address.host, port: address.port, error: String(error) });
      setTimeout(() => {
        if (listener.current() === null) void bind(held?.server ?? address);
      }, 1_000).unref();
    }
  };

  const health = () =>
    healthOf({
      serving: held,
      idle,
      waiting: idle === WAITING,
      uptime_ms: now() - started_at,
      sessions: sessions.count(),
      streams: streams.count(),
      usage_dropped: usage.dropped(),
      access_tokens: { as_of: auth.tokens_as_of(), current: control.state().connected },
      control: control.state(),
      connections: sources.counters(),
    });

  return {
    async start() {
      await Promise.all([auth.load(), names.load()]);
      const { snapshot, stopped, fault } = await file.read();
      file_fault = fault;
      if (fault !== null) log.error('snapshot_file_damaged', { detail: fault });
      if (snapshot !== null) {
        try {
          const { texts, ...rest } = snapshot;
          const registry = await loadRegistry({ ...rest, textOf: (hash) => texts.get(hash) }, null, now());
          requireAuth(registry.server, options);
          snapshots.remember(snapshot.checksum, snapshot.leaves);
          const { connections, server } = registry;
          stale = secretsIn([connections, server], '').some(({ sealed }) => options.staleSecret?.(sealed) ?? false);
          if (stopped) {
            held = registry;
            idle = STOPPED;
          } else swap(registry);
          log.info('snapshot_from_disk', { version: snapshot.version, stopped });
        } catch (error) {
          if (error instanceof AppError) idle = error.detail;
          log.error('snapshot_refused', { version: snapshot.version, error: String(error) });
        }
      }
      await bind(held?.server ?? options.address);
      control.start();
    },
    async stop(grace) {
      // Whoever asks meanwhile is told to go elsewhere; a closed port would say nothing.
      pause(ENDING);
      await drain(running, grace, ENDING);
      const rest = [
        listener.close(500),
        usage.flush(),
        sources.close(),
        auth.keep(),
        tracing.close(),
        ...(leases ? [leases.close()] : []),
      ];
      await withTimeout(Promise.all(rest), 1_000, () => undefined);
      shares?.close();
      usage.close();
      control.close();
      clearInterval(keepAlive);
    },
    fetch,
    connect: (send) => createBridge({ dispatch, serving, caller: LOCAL, listener: 0, send }),
    url: () => listener.current()?.url ?? null,
    health,
  };
}

/** Where a client on this machine finds the host. */
function localUrl(listener: Listener, held: Registry | null): string {
  const url = listener.current()?.url;
  return `http://127.0.0.1:${url === undefined ? (held?.server.port ?? 0) : new URL(url).port}`;
}
