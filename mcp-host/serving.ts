import { LOG_LEVELS } from '#core/contract/log-levels.ts';
import type { Log } from '#core/log.ts';
import type { Sessions } from './protocol/sessions.ts';
import type { Endpoint } from './protocol/endpoint.ts';
import { type Changes, NO_CHANGES, type Streams } from './protocol/streams.ts';
import { createChanges } from './protocol/updates.ts';
import { LIST_KINDS, type Registry } from './swap/registry.ts';
import type { Viewer, Views } from './swap/views.ts';

export const WAITING = 'Nothing is deployed here yet. Deploy in the Sluice UI, then try again.';
export const STOPPED = 'The server is stopped. Deploy to start it again.';
export const ENDING = 'The host is shutting down. Try again in a moment.';

/** Whatever anybody saw is gone. */
const EVERYTHING: Changes = { kinds: LIST_KINDS, is_updated: () => false };

/** What the host has, and why it serves nothing, if so. */
export interface Serving {
  readonly held: () => Registry | null;
  readonly idle: () => string | null;
  /** For the transports. */
  readonly current: () => Registry | { readonly idle: string; readonly cors_origins: readonly string[] };
  /** What an address serves of what is served, or why nothing; undefined: there is nothing at the address of a candidate. */
  readonly at: (endpoint: Endpoint) => ReturnType<Serving['current']> | undefined;
  /** From now on this registry is served. One assignment; calls that run keep theirs. */
  swap(next: Registry): void;
  /** From now on these are served beside it, at addresses of their own. */
  besides(next: ReadonlyMap<string, Registry>): void;
  /** From now on nothing is served; calls that run may finish. @param registry held instead of what was. */
  pause(reason: string, registry?: Registry): void;
}

export interface ServingOptions {
  readonly sessions: Sessions;
  readonly streams: Streams;
  readonly views: Views;
  readonly log: Log;
  /** Has every part of the host use this registry, with those beside it; null: nothing. */
  readonly use: (registry: Registry | null, beside: readonly Registry[]) => void;
}

/** Whatever is served at some time. */
interface Served {
  readonly live: Registry;
  readonly beside: ReadonlyMap<string, Registry>;
}

/** What a viewer has before it; null: nothing. */
const seenOf = (served: Served | null, { endpoint }: Viewer): Registry | null => {
  if (served === null) return null;
  return endpoint.candidate === null ? served.live : (served.beside.get(endpoint.candidate) ?? null);
};

/** What is different for each viewer; those who see the same are looked at once. */
function changesFor(views: Views, before: Served | null, after: Served): (viewer: Viewer) => Changes {
  const known = new Map<Registry | null, Map<Registry, (viewer: Viewer) => Changes>>();
  const between = (was: Registry | null, is: Registry) => {
    const of_was = known.get(was) ?? new Map<Registry, (viewer: Viewer) => Changes>();
    known.set(was, of_was);
    const found = of_was.get(is) ?? createChanges(views, was, is);
    of_was.set(is, found);
    return found;
  };
  return (viewer) => {
    const [was, is] = [seenOf(before, viewer), seenOf(after, viewer)];
    return is === null || was === is ? NO_CHANGES : between(was, is)(viewer);
  };
}

export function createServing({ sessions, streams, views, log, use }: ServingOptions): Serving {
  let held: Registry | null = null;
  let beside: ReadonlyMap<string, Registry> = new Map();
  let idle: string | null = WAITING;
  const served = (): Served | null => (held !== null && idle === null ? { live: held, beside } : null);
  const current: Serving['current'] = () =>
    held !== null && idle === null ? held : { idle: idle ?? WAITING, cors_origins: held?.server.cors_origins ?? [] };
  return {
    held: () => held,
    idle: () => idle,
    current,
    at({ candidate }) {
      const now = current();
      return candidate === null || 'idle' in now ? now : beside.get(candidate);
    },
    swap(next) {
      const before = served();
      use(next, [...beside.values()]);
      held = next;
      idle = null;
      const level = LOG_LEVELS.find((known) => known === next.server.log_level.toUpperCase());
      if (level !== undefined) log.setLevel(level);
      streams.announce(changesFor(views, before, { live: next, beside }), sessions.all());
      if (before !== null && before.live.server.transport !== next.server.transport) streams.end();
    },
    besides(next) {
      const before = served();
      beside = next;
      if (before === null) return;
      use(before.live, [...next.values()]);
      streams.announce(changesFor(views, before, { live: before.live, beside: next }), sessions.all());
    },
    pause(reason, registry = held ?? undefined) {
      const was_serving = idle === null;
      held = registry ?? null;
      idle = reason;
      if (was_serving) streams.announce(() => EVERYTHING, sessions.all());
      streams.end();
      use(null, []);
    },
  };
}
