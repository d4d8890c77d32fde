import { refuseReference } from '#core/lib/secrets.ts';
import { createPseudonym } from '#core/query/masks.ts';
import { createSavedCopies } from '#core/lib/saved-copies.ts';
import { reasonOf } from '#core/process/log.ts';
import { createResultCache } from './call/cache.ts';
import { createSamples } from './call/samples.ts';
import { createConnectionPools } from './connections/connection-pools.ts';
import { createHostNames } from './control/host-names.ts';
import { noListFile } from './auth/list-file.ts';
import { createSignedLists } from './control/signed-lists.ts';
import { createStreams } from './dispatch/streams.ts';
import type { HostOptions } from './host-options.ts';
import { createRateLimits } from './limits/rate-limit.ts';
import { createViews } from './registry/views.ts';
import { createCancelsElsewhere } from './requests/running-calls.ts';
import { createRunningCalls } from './requests/running-calls.ts';
import { createEndedSessions, createSessionIds } from './requests/session-ids.ts';
import { ADOPTED_MS, createSessions } from './requests/sessions.ts';

/** The state of a host in memory; none of it needs another part of the host. */
export function createHostState(options: HostOptions) {
  const { log, boot_id, redis = null, now = Date.now } = options;
  const { keys } = options.auth;
  const ticks = options.ticks ?? options.now ?? (() => performance.now());
  const cancels = createCancelsElsewhere(redis, keys);
  const copies = createSavedCopies({
    onChange(copy, error) {
      if (error === null) log.info('copy_saved', { copy });
      else log.error('copy_not_saved', { copy, error: reasonOf(error) });
    },
  });
  const ended = createEndedSessions({
    now,
    lasts_ms: ADOPTED_MS,
    file: options.ended_path === undefined ? undefined : { path: options.ended_path, copies, log },
  });
  return {
    now,
    ticks,
    redis,
    cancels,
    /** What this host saves on its disk, to start while the server is away. */
    copies,
    running: createRunningCalls({ prefix: boot_id, now, elsewhere: cancels }),
    ended,
    signed: createSignedLists(options.signed ?? noListFile(), copies, log),
    sessions: createSessions({ now, ended, ids: createSessionIds(keys) }),
    streams: createStreams(),
    views: createViews(),
    cache: createResultCache(ticks),
    samples: createSamples(),
    limits: createRateLimits({ ...(options.rates ?? { tool_per_minute: 0, caller_per_minute: 0 }), redis }),
    sources: createConnectionPools({
      open: options.openSource,
      secrets: { open: options.openSecret, resolve: options.resolveSecret ?? refuseReference },
      log,
    }),
    /** Sessions of downloads, apart from those of calls. */
    file_sources: createConnectionPools({
      open: options.openSource,
      secrets: { open: options.openSecret, resolve: options.resolveSecret ?? refuseReference },
      log,
    }),
    pseudonym: createPseudonym(keys),
    names: createHostNames({ always: options.allowed_hosts, path: options.names_path ?? null, copies, log }),
    /** The URL of the listener; null: the host does not listen. */
    address: { url: null as string | null },
    /** Whether the host will stop soon: it still serves, and its readiness says that it ends. */
    life: { ending: false },
    disk: {
      /**
       * Whether the copy was sealed before the keys were rotated. It is requested again, because it could not be opened without
       * the old key.
       */
      stale: false,
      /** Why the copy was not used; null: a newer one was saved. */
      fault: null as string | null,
    },
  };
}

export type HostState = ReturnType<typeof createHostState>;
