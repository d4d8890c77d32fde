import { createProbes } from '#core/edge/probes.ts';
import { AppError } from '#core/errors.ts';
import { secretsIn } from '#core/lib/sealed-values.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { createAppViews } from './call/app-views.ts';
import { createAuth } from './auth/authorise.ts';
import { createCandidateAuth } from './auth/candidates.ts';
import { LOCAL } from './auth/caller.ts';
import { noListFile } from './auth/list-file.ts';
import { requireAuth } from './auth/required-auth.ts';
import { createResultCache } from './call/cache.ts';
import { createCancelsElsewhere } from './requests/cancels-elsewhere.ts';
import { createConfirmations } from './call/confirmation/confirmations.ts';
import { createRunningCalls, drain } from './requests/running-calls.ts';
import { createPageCursors } from './call/page-cursors.ts';
import { createAcknowledge, follow } from './follow-server.ts';
import { createDismissal } from './dismissal.ts';
import type { HostOptions } from './host-options.ts';
import { createPseudonym } from '#core/query/masks.ts';
import { createRateLimits } from './limits/rate-limit.ts';
import { createUnread } from './limits/unread.ts';
import { createSlotShares } from './connections/slot-shares.ts';
import { type HostHealth, healthOf, readinessOf } from './observe/health.ts';
import { createObservation } from './observation.ts';
import { createDispatch } from './dispatch/dispatch.ts';
import { type Endpoint, WHOLE } from '#core/edge/mcp-endpoint.ts';
import { createEndedSessions, createSessionIds } from './requests/session-ids.ts';
import { ADOPTED_MS, createSessions } from './requests/sessions.ts';
import { createStreams } from './dispatch/streams.ts';
import { createReplays } from './replay/replay.ts';
import { createSamples } from './call/samples.ts';
import { createServing, ENDING, STOPPED, WAITING } from './dispatch/serving.ts';
import { createSideSnapshots } from './control/side-snapshots.ts';
import { NO_FILES } from './control/side-snapshot-files.ts';
import { createControl } from './control/control.ts';
import { createOwnInstallation } from './control/own-installation.ts';
import { createHostNames } from './control/host-names.ts';
import { type LoadRegistry, loadRegistry } from './registry/load-registry.ts';
import { type Registry, toolsetsOf } from './registry/registry.ts';
import { createSources } from './connections/connection-pools.ts';
import { createSnapshotTaker } from './control/take-snapshot.ts';
import { createViews } from './registry/views.ts';
import { type Bridge, createBridge } from './transports/bridge.ts';
import { createHttp, type HostFetch } from './transports/http.ts';
import { type Address, createListener, NO_LISTENER } from './transports/listener.ts';
import { servingAt } from './transports/local.ts';
import { createSse } from './transports/sse.ts';

export interface Host {
  /** Serves what is on disk, then follows the server. */
  start(): Promise<void>;
  /** Ends streams, lets running calls finish for at most `grace_ms`, closes pools and listeners. */
  stop(grace_ms: number): Promise<void>;
  readonly fetch: HostFetch;
  /** Serves one peer of this machine, who needs no credential. */
  connect(send: (text: string) => void, endpoint?: Endpoint): Bridge;
  /** Why there is nothing at an endpoint of what is served; null: there is something, or nothing is served yet. */
  missing(endpoint: Endpoint): string | null;
  url(): string | null;
  health(): HostHealth;
}

/** The data plane: holds one registry, swaps it, and keeps serving while the server is away. */
export function createHost(options: HostOptions): Host {
  const { log, file, id, boot_id, redis = null, now = Date.now, grace_ms = 10_000, keep_alive_ms = 15_000 } = options;
  const { ticks = options.now ?? (() => performance.now()) } = options;
  const started_at = now();
  /** The copy on disk was sealed before the keys were rotated: it is asked for again, or it would end with the old key. */
  let stale = false;
  /** Why the copy on disk was not taken, until a newer one is. */
  let file_fault: string | null = null;

  const cancels = createCancelsElsewhere(redis, options.auth.keys);
  const running = createRunningCalls({ prefix: boot_id, now, elsewhere: cancels });
  const sources = createSources({ open: options.openSource, openSecret: options.openSecret, log });
  const ended = createEndedSessions({ now, lasts_ms: ADOPTED_MS, path: options.ended_path, log });
  const sessions = createSessions({
    now,
    ended,
    ids: createSessionIds(options.auth.keys),
    onEnd: ({ version, opened_at }) => observation.metrics.endSession(version, now() - opened_at),
  });
  const streams = createStreams();
  const views = createViews();
  const cache = createResultCache(ticks);
  const pseudonym = createPseudonym(options.auth.keys);
  const samples = createSamples();
  const confirmations = createConfirmations({
    keys: options.auth.keys,
    redis,
    host: boot_id,
    page_origin: () => auth.issuer(),
    holds: (checksum) => serving.holds(checksum),
    now,
    ticks,
  });
  const limits = createRateLimits({ ...(options.rates ?? { tool_per_minute: 0, caller_per_minute: 0 }), redis });
  const slot_shares = redis && createSlotShares({ redis, owner: `${id}/${boot_id}`, queues: () => sources.queues(), log });
  const serving = createServing({
    sessions,
    streams,
    views,
    log,
    use(registry, beside) {
      if (registry !== null) options.onServe?.(registry.server);
      sources.use([...beside.flatMap(({ connections }) => connections), ...(registry?.connections ?? [])]);
      samples.use(registry?.server ?? null);
      if (registry === null) return;
      slot_shares?.refresh();
      auth.prepare(registry.server);
      cache.use(registry, ...beside);
      observation.use(registry);
    },
  });
  const own_installation = createOwnInstallation({
    file: options.installation ?? noListFile(),
    holds: () => serving.held() !== null,
    server_url: options.server_url,
    log,
  });
  const control = createControl({
    server_url: options.server_url,
    service_token: options.service_token,
    id,
    log,
    now,
    ...(options.retry_ms && { min_retry_ms: options.retry_ms.min, max_retry_ms: options.retry_ms.max }),
    have() {
      const held = serving.held();
      return held === null || stale ? '' : `${held.snapshot_version}:${held.checksum}`;
    },
    refusal: (installation) => own_installation.refusal(installation),
    onRefused: (answer) => acknowledge(answer),
    onEvent: (event) =>
      follow(event, {
        snapshots,
        names,
        listener,
        beside,
        replays,
        running,
        decisions: confirmations.decisions,
        acknowledge,
        useTokens,
        useIdentity,
        stop,
      }),
  });
  const names = createHostNames({ always: options.allowed_hosts, path: options.names_path ?? null, log });
  const auth = createAuth({
    ...options.auth,
    openSecret: options.openSecret,
    // Where a client on this machine finds the host.
    local_url() {
      const url = listener.current()?.url;
      return `http://127.0.0.1:${url === undefined ? (serving.held()?.server.port ?? 0) : new URL(url).port}`;
    },
    names: () => names.accepted(),
    toolsets: toolsetsOf(() => serving.held()),
    log,
    now,
    ticks,
  });
  const load: LoadRegistry = (snapshot, before) => loadRegistry(snapshot, before, now(), options.view_page?.uri);
  const beside = createSideSnapshots({
    control,
    files: options.beside ?? NO_FILES,
    file,
    live: serving.held,
    log,
    loadRegistry: load,
    serve(held, canary) {
      serving.besides(new Map([...held].map(([name, { registry }]) => [name, registry])), canary);
      dismiss();
    },
    acknowledge: (answer) => acknowledge(answer),
  });
  const candidates = createCandidateAuth((name) => beside.find(name), auth.attempts, now);
  const otlp_endpoint = options.otlp_endpoint ?? null;
  const seen = { running, sources, limits, redis, sessions, streams, serving, auth, control, log };
  const observation = createObservation({ id, boot_id, otlp_endpoint, now, keys: options.auth.keys, ...seen });
  const { usage, metrics, observe, refused } = observation;
  const dispatch = createDispatch({
    sources,
    sessions,
    streams,
    usage,
    cache,
    limits,
    samples,
    observe,
    log,
    now,
    running,
    cancels,
    pseudonym,
    confirmations,
    app_views: createAppViews(options.view_page ?? null),
    pages: createPageCursors(options.auth.keys),
  });
  const replays = createReplays({
    samples,
    sources,
    views,
    pseudonym,
    live: () => (serving.idle() === null ? serving.held() : null),
    borrow: (name) => beside.borrow(name),
    rights({ caller }, { server }) {
      if (caller.owner === LOCAL.owner) return caller.rights;
      return auth.holds(caller, server) ? (auth.rights(caller, server) ?? caller.rights) : null;
    },
    post: (answer) => control.post('replay', answer),
    log,
    now,
  });
  const fetch = createHttp({
    dispatch,
    arriving: running.arriving,
    auth,
    allowed_hosts: () => names.accepted(),
    service_token: options.service_token,
    trusted_proxies: options.trusted_proxies ?? [],
    sse: createSse({ dispatch, serving: serving.seenBy, views, streams, log }),
    views,
    serving: serving.current,
    servingAt: serving.at,
    canary: serving.canary,
    candidates,
    health: () => health(),
    unread: createUnread(),
    probes: createProbes({
      service_token: options.service_token,
      metrics_token: options.metrics_token ?? null,
      readiness: () => readinessOf({ idle: serving.idle(), fault: file_fault, connected: control.state().connected, redis }),
      metrics: () => metrics.text(),
    }),
    refused,
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

  const dismiss = createDismissal({ serving, auth, candidates, sessions, streams, samples, views });
  const swap = (next: Registry) => {
    serving.swap(next);
    dismiss();
  };
  const acknowledge = createAcknowledge({
    control,
    boot_id,
    held: serving.held,
    url: () => options.url ?? listener.current()?.url ?? null,
    log,
  });
  const snapshots = createSnapshotTaker({
    file,
    log,
    loadRegistry: load,
    held: serving.held,
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
  /** What is acknowledged survives a restart; a full disk does not keep the host from serving. */
  const keep = (write: () => Promise<void>) =>
    write().catch((error: unknown) => log.error('snapshot_not_kept', { error: String(error) }));
  const useTokens: Parameters<typeof follow>[1]['useTokens'] = (tokens) => {
    const kept = auth.useTokens(tokens);
    dismiss();
    return kept;
  };
  const useIdentity: Parameters<typeof follow>[1]['useIdentity'] = (list) => auth.useIdentity(list, dismiss);
  const stop = async () => {
    const stopped = serving.held() !== null;
    serving.pause(stopped ? STOPPED : WAITING);
    log.info(stopped ? 'stopped' : 'nothing_deployed');
    void drain(running, grace_ms, STOPPED);
    await keep(() => file.setStopped(true));
    acknowledge({ nothing: true });
  };

  /** Serves the copy on disk, if there is one that may be served. */
  const resume = async (): Promise<void> => {
    const { snapshot, stopped, fault } = await file.read();
    file_fault = fault;
    if (fault !== null) log.error('snapshot_file_damaged', { detail: fault });
    if (snapshot === null) return;
    try {
      const { texts, ...rest } = snapshot;
      const registry = await load({ ...rest, textOf: (hash) => texts.get(hash) }, null);
      requireAuth(registry.server, options);
      snapshots.remember(snapshot.checksum, snapshot.leaves);
      const { connections, server } = registry;
      stale = secretsIn([connections, server], '').some(({ sealed }) => options.staleSecret?.(sealed) ?? false);
      if (stopped) serving.pause(STOPPED, registry);
      else swap(registry);
      log.info('snapshot_from_disk', { version: snapshot.version, stopped });
    } catch (error) {
      if (error instanceof AppError) serving.pause(error.detail);
      log.error('snapshot_refused', { version: snapshot.version, error: String(error) });
    }
  };
  /** The address of an ended program may be busy for a while. */
  const bind = async (address: Address): Promise<void> => {
    try {
      await listener.use(address);
    } catch (error) {
      log.error('listen_failed', { host: address.host, port: address.port, error: String(error) });
      setTimeout(() => {
        if (listener.current() === null) void bind(serving.held()?.server ?? address);
      }, 1_000).unref();
    }
  };
  const health = () =>
    healthOf({
      serving: serving.held(),
      idle: serving.idle(),
      waiting: serving.idle() === WAITING,
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
      await Promise.all([auth.load(), names.load(), own_installation.load(), ended.load()]);
      await resume();
      await beside.load();
      await bind(serving.held()?.server ?? options.address);
      control.start();
    },
    async stop(grace) {
      // Whoever asks meanwhile is sent elsewhere; a closed port would say nothing.
      serving.pause(ENDING);
      await drain(running, grace, ENDING);
      const rest = [
        listener.close(500),
        sources.close(),
        auth.keep(),
        observation.close(),
        ...(slot_shares ? [slot_shares.close()] : []),
      ];
      await withTimeout(Promise.all(rest), 1_000, () => undefined);
      usage.close();
      // A server that is away learns it from the silence.
      await withTimeout(
        control.post('leave', { boot_id }).catch(() => undefined),
        500,
        () => undefined,
      );
      redis?.close();
      control.close();
      clearInterval(keepAlive);
    },
    fetch,
    connect(send, endpoint = WHOLE) {
      const mine = () => serving.seenBy({ rights: LOCAL.rights, endpoint, key: LOCAL.owner });
      const seen_here = servingAt(mine, views, endpoint);
      return createBridge({ dispatch, serving: seen_here, caller: () => LOCAL, endpoint, listener: 0, send });
    },
    missing(endpoint) {
      const now = servingAt(serving.current, views, endpoint)();
      return 'idle' in now && serving.idle() === null ? now.idle : null;
    },
    url: () => listener.current()?.url ?? null,
    health,
  };
}
