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

/** All definitions are gone for all viewers. */
const EVERYTHING: Changes = { kinds: LIST_KINDS, is_updated: () => false };

/** Why nothing is served, and the registry that running calls still use; null: there was none. */
export interface NotServing {
  readonly idle: string;
  readonly cors_origins: readonly string[];
  readonly held: Registry | null;
}

/** The loaded configurations, and the reason if none is served. */
export interface ServingState {
  readonly held: () => Registry | null;
  readonly idle: () => string | null;
  /** The served registry, or why nothing is served. */
  readonly current: () => Registry | NotServing;
  /** Whether a configuration is still loaded, live or beside it. */
  readonly holds: (checksum: string) => boolean;
  /** The running canary; nearly always null. */
  readonly canary: () => Canary | null;
  /** What one viewer is served, or why nothing is served. */
  readonly seenBy: (viewer: Viewer) => ReturnType<ServingState['current']>;
  /** What an address serves, or why nothing is served; undefined: there is no candidate at the address. */
  readonly at: (endpoint: Endpoint) => ReturnType<ServingState['current']> | undefined;
  /** Serves another registry. The swap is one assignment; running calls keep their registry. */
  swap(next: Registry): void;
  /** Serves configurations beside the live one: at separate addresses, and to the callers of a canary instead of the live one. */
  besides(next: ReadonlyMap<string, Registry>, canary: CanaryEvent | null): void;
  /** Stops serving; running calls may finish. @param registry replaces the loaded one. */
  pause(reason: string, registry?: Registry): void;
  /** Sets the listener that is called before another registry is served. */
  beforeChange(listener: UseRegistry): void;
  /** Sets the listener that is called after another registry is served, live or beside the live one. */
  afterChange(listener: () => void): void;
}

export interface ServingOptions {
  readonly sessions: Sessions;
  readonly streams: Streams;
  readonly views: Views;
  readonly log: Log;
}

/** Switches a part of the host to a registry and the registries beside it; null: nothing is served. */
type UseRegistry = (registry: Registry | null, beside: readonly Registry[]) => void;

/** Everything that is served at one time. */
interface ServedSnapshots {
  readonly live: Registry;
  readonly beside: ReadonlyMap<string, Registry>;
  readonly canary: Canary | null;
}

/** The registry that a viewer sees; null: none. */
const seenOf = (served: ServedSnapshots | null, { endpoint, key }: Viewer): Registry | null => {
  if (served === null) return null;
  if (endpoint.candidate !== null) return served.beside.get(endpoint.candidate) ?? null;
  const { live, canary } = served;
  return canary === null || key === undefined ? live : chosen(live, canary, key);
};

/** The changes for each viewer; they are computed once for viewers of the same registries. */
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
    // The same configuration may be another object, as on a side of a canary.
    return is === null || was?.loaded === is.loaded ? NO_CHANGES : between(was, is)(viewer);
  };
}

export function createServing({ sessions, streams, views, log }: ServingOptions): ServingState {
  let use: UseRegistry = () => undefined;
  let changed: () => void = () => undefined;
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
      changed();
    },
    besides(next, running) {
      beside = next;
      const registry = running === null ? undefined : next.get(running.candidate);
      canary = running === null || registry === undefined ? null : sameCanary(canary, running, registry);
      if (served !== null) {
        use(held, [...next.values()]);
        tell(turn());
      }
      changed();
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
    beforeChange(listener) {
      use = listener;
    },
    afterChange(listener) {
      changed = listener;
    },
  };
}

/**
 * Keeps the canary object if the canary and its configuration are unchanged, so that its calls are counted under the same names.
 */
const sameCanary = (now: Canary | null, next: CanaryEvent, registry: Registry): Canary =>
  now?.id === next.id && now.registry.loaded === registry.loaded ? now : createCanary(next, registry);
