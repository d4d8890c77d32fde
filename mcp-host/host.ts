import { type Endpoint, WHOLE } from '#core/edge/mcp-endpoint.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { LOCAL } from './auth/caller.ts';
import { ofFiles } from './call/files/download.ts';
import { createSlotShares } from './connections/slot-shares.ts';
import { NO_FILES } from './control/side-snapshot-files.ts';
import { createSideSnapshots } from './control/side-snapshots.ts';
import { createDismissal } from './dismissal.ts';
import { createServing, ENDING } from './dispatch/serving.ts';
import { createFollowers } from './followers.ts';
import type { HostOptions } from './host-options.ts';
import { createHostState } from './host-state.ts';
import type { HostHealth } from './observe/health.ts';
import { type LoadRegistry, loadRegistry } from './registry/load-registry.ts';
import { createRequestPath } from './request-path.ts';
import { drain } from './requests/running-calls.ts';
import { createServerLink } from './server-link.ts';
import { type Bridge, createBridge } from './transports/bridge.ts';
import type { HostFetch } from './transports/http.ts';
import { servingAt } from './transports/local.ts';

export interface Host {
  /** Serves the copy on disk, then follows the server. */
  start(): Promise<void>;
  /** Goes on serving for this time while `/readyz` answers 503, so that load balancers send new requests elsewhere. */
  announceEnd(delay_ms: number): Promise<void>;
  /** Ends streams, lets running calls finish for at most `grace_ms`, closes pools and listeners. */
  stop(grace_ms: number): Promise<void>;
  readonly fetch: HostFetch;
  /** Serves one peer on this machine, which needs no credential. */
  connect(send: (text: string) => void, endpoint?: Endpoint): Bridge;
  /** Why an endpoint serves nothing; null: it serves something, or the host does not serve yet. */
  missing(endpoint: Endpoint): string | null;
  url(): string | null;
  health(): HostHealth;
}

/**
 * The data plane: holds one registry, swaps it, and keeps serving while the server is away. Each part depends only on those above
 * it; the listeners for changes are set at the end.
 */
export function createHost(options: HostOptions): Host {
  const { log, file } = options;
  const state = createHostState(options);
  const { now, redis, names, sessions, streams, views, cache, samples, sources, running } = state;
  const load: LoadRegistry = (snapshot, before) => loadRegistry(snapshot, before, now(), options.view_page?.uri);
  const serving = createServing({ sessions, streams, views, log });
  const link = createServerLink(options, state, serving.held);
  const { control, acknowledge } = link;
  const beside = createSideSnapshots({
    control,
    files: options.beside ?? NO_FILES,
    file,
    live: serving.held,
    log,
    copies: state.copies,
    loadRegistry: load,
    serve: (held, canary) => serving.besides(held, canary),
    acknowledge,
  });
  const path = createRequestPath(options, state, { serving, control, beside });
  const { auth, observation, dispatch, listener, downloads } = path;
  const dismiss = createDismissal({ ...state, ...path, serving });
  const followers = createFollowers(options, { ...state, ...path, load, serving, control, beside, dismiss, acknowledge });
  const owner = `${options.id}/${options.boot_id}`;
  const slot_shares = redis && createSlotShares({ redis, owner, queues: () => sources.queues(), log });

  sessions.onEnd(({ version, opened_at }) => observation.metrics.endSession(version, now() - opened_at));
  serving.beforeChange((registry, others) => {
    if (registry !== null) options.onServe?.(registry.server);
    sources.use([...others.flatMap(({ connections }) => connections), ...(registry?.connections ?? [])]);
    state.file_sources.use(registry?.connections.map((connection) => ofFiles(connection, registry.server)) ?? []);
    samples.use(registry?.server ?? null);
    if (registry === null) return;
    slot_shares?.refresh();
    auth.prepare(registry.server);
    cache.use(registry, ...others);
    observation.use(registry);
  });
  serving.afterChange(dismiss);
  const keepAlive = setInterval(() => {
    streams.keepAlive();
    sessions.sweep();
    dismiss();
    void auth.keep();
  }, options.keep_alive_ms ?? 15_000);
  keepAlive.unref();

  return {
    async start() {
      await Promise.all([auth.load(), names.load(), link.load(), state.ended.load(), state.signed.load()]);
      await followers.resume();
      await beside.load();
      await followers.bind(serving.held()?.server ?? options.address);
      control.start(followers);
    },
    async announceEnd(delay_ms) {
      state.life.ending = true;
      await sleep(delay_ms);
    },
    async stop(grace) {
      // While the host shuts down, requests are refused with a reason; a closed port would give none.
      serving.pause(ENDING);
      await drain(running, grace, ENDING);
      downloads.end(ENDING);
      const ends = [listener.close(500), sources.close(), state.file_sources.close(), auth.keep(), observation.close()];
      if (slot_shares !== null) ends.push(slot_shares.close());
      await withTimeout(Promise.all(ends), 1_000, () => undefined);
      observation.usage.close();
      // If this message is lost, the server notices that the host is silent.
      const left = control.post('leave', { boot_id: options.boot_id }).catch(() => undefined);
      await withTimeout(left, 500, () => undefined);
      redis?.close();
      control.close();
      clearInterval(keepAlive);
    },
    fetch: path.fetch,
    connect(send, endpoint = WHOLE) {
      const mine = () => serving.seenBy({ rights: LOCAL.rights, endpoint, key: LOCAL.owner });
      const seen_here = servingAt(mine, views, endpoint);
      return createBridge({ dispatch, serving: seen_here, caller: () => LOCAL, endpoint, listener: 0, send });
    },
    missing(endpoint) {
      const current = servingAt(serving.current, views, endpoint)();
      return 'idle' in current && serving.idle() === null ? current.idle : null;
    },
    url: () => state.address.url,
    health: observation.health,
  };
}
