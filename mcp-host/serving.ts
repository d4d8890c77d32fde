import { LOG_LEVELS } from '#core/contract/log-levels.ts';
import type { Log } from '#core/log.ts';
import type { Sessions } from './protocol/sessions.ts';
import type { Changes, Streams } from './protocol/streams.ts';
import { createChanges } from './protocol/updates.ts';
import { LIST_KINDS, type Registry } from './swap/registry.ts';
import type { Views } from './swap/views.ts';

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
  /** From now on this registry is served. One assignment; calls that run keep theirs. */
  swap(next: Registry): void;
  /** From now on nothing is served; calls that run may finish. @param registry held instead of what was. */
  pause(reason: string, registry?: Registry): void;
}

export interface ServingOptions {
  readonly sessions: Sessions;
  readonly streams: Streams;
  readonly views: Views;
  readonly log: Log;
  /** Has every part of the host use this registry; null: nothing. */
  readonly use: (registry: Registry | null) => void;
}

export function createServing({ sessions, streams, views, log, use }: ServingOptions): Serving {
  let held: Registry | null = null;
  let idle: string | null = WAITING;
  return {
    held: () => held,
    idle: () => idle,
    current: () =>
      held !== null && idle === null ? held : { idle: idle ?? WAITING, cors_origins: held?.server.cors_origins ?? [] },
    swap(next) {
      const before = idle === null ? held : null;
      use(next);
      held = next;
      idle = null;
      const level = LOG_LEVELS.find((known) => known === next.server.log_level.toUpperCase());
      if (level !== undefined) log.setLevel(level);
      streams.announce(createChanges(views, before, next), sessions.all());
      if (before !== null && before.server.transport !== next.server.transport) streams.end();
    },
    pause(reason, registry = held ?? undefined) {
      const was_serving = idle === null;
      held = registry ?? null;
      idle = reason;
      if (was_serving) streams.announce(() => EVERYTHING, sessions.all());
      streams.end();
      use(null);
    },
  };
}
