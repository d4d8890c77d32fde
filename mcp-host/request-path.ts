import { createAuth } from './auth/authenticate.ts';
import { LOCAL } from './auth/caller.ts';
import { createCandidateAuth } from './auth/candidates.ts';
import { createAppViews } from './call/app-views.ts';
import { createConfirmations } from './call/confirmation/confirmations.ts';
import { createDownloads } from './call/files/download.ts';
import { createFileLinks } from './call/files/file-links.ts';
import { createFilePages } from './call/files/file-pages.ts';
import { createFileUses } from './call/files/file-uses.ts';
import { createPageCursors } from './call/page-cursors.ts';
import type { Control } from './control/control.ts';
import type { SideSnapshots } from './control/side-snapshots.ts';
import { createDispatch } from './dispatch/dispatch.ts';
import type { ServingState } from './dispatch/serving.ts';
import type { HostOptions } from './host-options.ts';
import type { HostState } from './host-state.ts';
import { createObservation } from './observation.ts';
import { toolsetsOf } from './registry/registry.ts';
import { createReplays } from './replay/replay.ts';
import { createTransports } from './transports/transports.ts';

interface Parts {
  readonly serving: ServingState;
  readonly control: Control;
  readonly beside: Pick<SideSnapshots, 'find' | 'borrow'>;
}

/** What a request passes, from the socket to the record of its end; replays run calls on the same path. */
export function createRequestPath(options: HostOptions, state: HostState, { serving, control, beside }: Parts) {
  const { id, boot_id, view_page = null, collector = null, log } = options;
  const { now, ticks, redis, address, names } = state;
  const { keys } = options.auth;
  const auth = createAuth({
    ...options.auth,
    openSecret: options.openSecret,
    copies: state.copies,
    ...(options.resolveSecret && { resolveSecret: options.resolveSecret }),
    // The address for clients on this machine.
    local_url: () => `http://127.0.0.1:${address.url === null ? (serving.held()?.server.port ?? 0) : new URL(address.url).port}`,
    names: () => names.accepted(),
    toolsets: toolsetsOf(serving.held),
    log,
    now,
    ticks,
  });
  const candidates = createCandidateAuth((name) => beside.find(name), auth.attempts, now);
  const confirmations = createConfirmations({
    keys,
    redis,
    host: boot_id,
    page_origin: () => auth.issuer(),
    holds: serving.holds,
    now,
    ticks,
  });
  const { folder = null } = options;
  const observation = createObservation({
    ...state,
    id,
    boot_id,
    folder,
    collector,
    keys,
    serving,
    auth,
    control,
    log,
  });
  const files = createFileLinks({
    keys,
    passport: (admitted, server) => auth.passport(admitted, server),
    urlOf: (path, origin) => auth.urlOf(path, origin),
    now,
  });
  const downloads = createDownloads({
    ...state,
    links: files,
    uses: createFileUses(redis, now),
    auth,
    seenBy: serving.seenBy,
    pools: state.file_sources,
    usage: observation.usage,
    log,
  });
  const dispatch = createDispatch({
    ...state,
    confirmations,
    usage: observation.usage,
    observe: observation.observe,
    app_views: createAppViews(view_page),
    pages: createPageCursors(keys),
    files,
    file_pages: createFilePages({
      ...state,
      grant: downloads.grant,
      pools: state.file_sources,
      usage: observation.usage,
      log,
    }),
    log,
  });
  const replays = createReplays({
    ...state,
    live: () => (serving.idle() === null ? serving.held() : null),
    borrow: (name) => beside.borrow(name),
    rights({ caller }, { server }) {
      if (caller.owner === LOCAL.owner) return caller.rights;
      return auth.holds(caller, server) ? (auth.rights(caller, server) ?? caller.rights) : null;
    },
    post: (answer) => control.post('replay', answer),
    log,
  });
  const transports = createTransports(options, {
    ...state,
    ...observation,
    dispatch,
    auth,
    candidates,
    serving,
    download: downloads.answer,
  });
  return { ...transports, auth, candidates, decisions: confirmations.decisions, observation, dispatch, replays, downloads };
}
