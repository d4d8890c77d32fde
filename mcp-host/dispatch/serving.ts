import { LOG_LEVELS } from '#core/contract/log-levels.ts';
import type { CanaryEvent } from '#core/contract/deploy/control.ts';
import type { Log } from '#core/process/log.ts';
import type { Sessions } from '#mcp-host/requests/sessions.ts';
import type { Endpoint } from '#core/edge/mcp-endpoint.ts';
import { type Changes, NO_CHANGES, createChanges } from '#mcp-host/registry/changes.ts';
import type { Streams } from './streams.ts';
import { type Canary, chosen, createCanary } from '#mcp-host/registry/canary.ts';
import { LIST_KINDS, type Registry } from '#mcp-host/registry/registry.ts';
import type { Viewer, Views } from '#mcp-host/registry/views.ts';

export const WAITING = 'Nothing is deployed here yet. Deploy in the Sluice UI, then try again.';
export const STOPPED = 'The server is stopped. Deploy to start it again.';
export const ENDING = 'The host is shutting down. Try again in a moment.';

/** Whatever anybody saw is gone. */
const EVERYTHING: Changes = { kinds: LIST_KINDS, is_updated: () => false };

/** Why nothing is served, and what calls that run on were served before; null: nothing. */
export interface NotServing {
  readonly idle: string;
  readonly cors_origins: readonly string[];
  readonly held: Registry | null;
}

/** What the host has, and why it serves nothing, if so. */
export interface ServingState {
  readonly held: () => Registry | null;
  readonly idle: () => string | null;
  /** For the transports. */
  readonly current: () => Registry | NotServing;
  /** Whether a configuration is still held, live or beside it. */
  readonly holds: (checksum: string) => boolean;
  /** The canary that runs; null for nearly always. */
  readonly canary: () => Canary | null;
  /** The same for one viewer. */
  readonly seenBy: (viewer: Viewer) => ReturnType<ServingState['current']>;
  /** What an address serves of what is served, or why nothing; undefined: there is nothing at the address of a candidate. */
  readonly at: (endpoint: Endpoint) => ReturnType<ServingState['current']> | undefined;
  /** From now on this registry is served. One assignment; calls that run keep theirs. */
  swap(next: Registry): void;
  /** From now on these are served beside it: at addresses of their own, and to the callers of a canary in its place. */
  besides(next: ReadonlyMap<string, Registry>, canary: CanaryEvent | null): void;
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
interface ServedSnapshots {
  readonly live: Registry;
  readonly beside: ReadonlyMap<string, Registry>;
  readonly canary: Canary | null;
}

/** What a viewer has before it; null: nothing. */
const seenOf = (served: ServedSnapshots | null, { endpoint, key }: Viewer): Registry | null => {
  if (served === null) return null;
  if (endpoint.candidate !== null) return served.beside.get(endpoint.candidate) ?? null;
  const { live, canary } = served;
  return canary === null || key === undefined ? live : chosen(live, canary, key);
};

/** What is different for each viewer; those who see the same are looked at once. */
function changesFor(views: Views, before: ServedSnapshots | null, after: ServedSnapshots): (viewer: Viewer) => Changes {
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
    // The same under another name: the side of a canary.
    return is === null || was?.loaded === is.loaded ? NO_CHANGES : between(was, is)(viewer);
  };
}

export function createServing({ sessions, streams, views, log, use }: ServingOptions): ServingState {
  let held: Registry | null = null;
  let beside: ReadonlyMap<string, Registry> = new Map();
  let canary: Canary | null = null;
  let idle: string | null = WAITING;
  let served: ServedSnapshots | null = null;
  const look = (): ServedSnapshots | null => {
    const live = held === null || canary === null ? held : { ...held, side: canary.live };
    return live === null || idle !== null ? null : { live, beside, canary };
  };
  const current: ServingState['current'] = () =>
    served?.live ?? { idle: idle ?? WAITING, cors_origins: held?.server.cors_origins ?? [], held };
  /** One assignment. */
  const turn = (): { before: ServedSnapshots | null; after: ServedSnapshots | null } => {
    const before = served;
    served = look();
    return { before, after: served };
  };
  const tell = ({ before, after }: ReturnType<typeof turn>): void => {
    if (after !== null) streams.announce(changesFor(views, before, after), sessions.all());
  };
  return {
    held: () => held,
    idle: () => idle,
    current,
    holds: (checksum) => held?.checksum === checksum || beside.values().some((registry) => registry.checksum === checksum),
    canary: () => served?.canary ?? null,
    seenBy: (viewer) => seenOf(served, viewer) ?? current(),
    at({ candidate }) {
      const now = current();
      return candidate === null || 'idle' in now ? now : beside.get(candidate);
    },
    swap(next) {
      use(next, [...beside.values()]);
      held = next;
      idle = null;
      const turned = turn();
      const level = LOG_LEVELS.find((known) => known === next.server.log_level.toUpperCase());
      if (level !== undefined) log.setLevel(level);
      tell(turned);
      if (turned.before !== null && turned.before.live.server.transport !== next.server.transport) streams.end();
    },
    besides(next, running) {
      beside = next;
      const registry = running === null ? undefined : next.get(running.candidate);
      canary = running === null || registry === undefined ? null : sameCanary(canary, running, registry);
      if (served === null) return;
      use(held, [...next.values()]);
      tell(turn());
    },
    pause(reason, registry = held ?? undefined) {
      const was_serving = idle === null;
      held = registry ?? null;
      idle = reason;
      turn();
      if (was_serving) streams.announce(() => EVERYTHING, sessions.all());
      streams.end();
      use(null, []);
    },
  };
}

/** The one that runs goes on as it is: its calls are counted by the same names. */
const sameCanary = (now: Canary | null, next: CanaryEvent, registry: Registry): Canary =>
  now?.id === next.id && now.registry.loaded === registry.loaded ? now : createCanary(next, registry);
