import { AppError } from '#core/errors.ts';
import type { Stop } from '#core/engines/shared/stop.ts';
import { type ListKind, LIST_KINDS } from '#mcp-host/registry/registry.ts';
import type { Members, RpcId } from '#mcp-host/protocol/messages.ts';
import type { Viewer } from '#mcp-host/registry/views.ts';
import type { McpLogLevel } from '#mcp-host/protocol/log-levels.ts';
import {
  type ClientCan,
  type EndedSessions,
  type SessionIds,
  createEndedSessions,
  createSessionIds,
  type SessionFacts,
} from './session-ids.ts';
import { FULL_RIGHTS } from '#mcp-host/auth/rights.ts';
import { WHOLE, type Endpoint } from '#core/edge/mcp-endpoint.ts';
import { LOCAL } from '#mcp-host/auth/caller.ts';
import { createQuota } from '#mcp-host/limits/quota.ts';

/** The session of a call ended, such as with the sign-in that it belongs to: its caller may still wait for the answer. */
export const SESSION_ENDED = new AppError('cancelled', 'The session has ended. Send initialize again.');

/** A session of the protocol revisions before 2026-07-28. It belongs to the endpoint at which it was opened. */
export interface Session extends Viewer {
  readonly id: string;
  readonly key: string;
  /** The credential that opened it; no other may use it. */
  readonly owner: string;
  /** Whose limit it counts in: its owner, or its address when callers have no credential. */
  readonly holder: string;
  readonly version: string;
  readonly client: string;
  readonly opened_at: number;
  used_at: number;
  streaming: boolean;
  /** Changes since its stream was opened, which it may have missed: the next stream begins with them. */
  readonly missed: Set<ListKind>;
  /** URIs of resources whose changes the client wants to hear of, and those of which it may have missed some. */
  readonly subscribed: Set<string>;
  readonly missed_uris: Set<string>;
  /** Log messages of its calls that it wants to hear; null until it says so. */
  log_level: McpLogLevel | null;
  /** Its client can be asked with a form. */
  readonly shows_forms: boolean;
  /** Its client shows no forms, and leads its person to a page instead. */
  readonly opens_pages: boolean;
  /** Its client draws results (MCP Apps). */
  readonly draws_views: boolean;
  /** What waits for the response to a request of ours, by its id. */
  readonly asked: Map<string, (response: Members) => void>;
  /** Its calls that run, with their ids: a careless client gives one id to several. */
  readonly running: Map<Pick<Stop, 'abort'>, RpcId>;
}

export interface Sessions {
  /** Null when all quota that it might take are taken by sessions in use. */
  open(owner: string, version: string, client: string, holder?: string, viewer?: Viewer, can?: ClientCan): Session | null;
  /** Takes on a session that another host opened. Null for an unknown id, for one that ended here and for another's session alike. */
  find(id: string, owner: string, holder?: () => string, viewer?: Viewer): Session | null;
  /** Its client ended it. */
  end(session: Session): void;
  /** Ends those of callers that are not let in any more. */
  endOf(is_gone: (owner: string) => boolean): void;
  /** Ends those that idled out. */
  sweep(): void;
  all(): Iterable<Session>;
  /** Whether a call of the session waits for an answer of its client. */
  isAsked(id: string | null): boolean;
  /** URIs that the sessions of a caller follow, for each of them. */
  followed(holder: string): ReadonlySet<string>[];
  count(): number;
}

export interface SessionsOptions {
  readonly now: () => number;
  /** Absent: ids count on this host alone. */
  readonly ids?: SessionIds;
  /** Absent: those that ended are forgotten with this host. */
  readonly ended?: EndedSessions;
  readonly idle_ms?: number;
  readonly limit?: number;
  /** Of one caller. */
  readonly limit_each?: number;
  readonly onEnd?: (session: Session) => void;
}

/** Ids of other hosts are taken on for so long after they were given out. */
export const ADOPTED_MS = 7 * 24 * 3_600_000;

const NOTHING: ClientCan = { shows_forms: false, opens_pages: false, draws_views: false };

const EVERYTHING: Viewer = { rights: FULL_RIGHTS, endpoint: WHOLE };

/** What an id is signed for. */
const boundTo = (owner: string, { path }: Endpoint): string => (path === '' ? owner : `${owner}\n${path}`);

export function createSessions(options: SessionsOptions): Sessions {
  const { now, idle_ms = 30 * 60_000, limit = 10_000, limit_each = 2_500, ids = createSessionIds([]), onEnd } = options;
  /** In order of last use, the longest unused first. */
  const sessions = new Map<string, Session>();
  const quota = createQuota<Session>(limit, limit_each);
  const ended = options.ended ?? createEndedSessions({ now, lasts_ms: ADOPTED_MS });
  // A peer on standard input can open no new session: its own ends with it.
  const busy = ({ owner, streaming, running }: Session) => streaming || running.size > 0 || owner === LOCAL.owner;
  /** @param reason for its calls, whose callers may still be there; absent: they ended it themselves. */
  const end = (session: Session, reason?: AppError) => {
    if (sessions.delete(session.id)) {
      quota.remove(session.holder, session);
      ended.add(session.id);
      onEnd?.(session);
    }
    for (const call of session.running.keys()) call.abort(reason);
  };
  const makeRoom = (holder: string): boolean => {
    const surplus = quota.surplus(holder);
    if (surplus === null) return true;
    for (const session of surplus) {
      if (busy(session)) continue;
      end(session);
      return true;
    }
    return false;
  };
  const add = (id: string, owner: string, holder: string, { rights, endpoint, key }: Viewer, facts: SessionFacts): Session => {
    const session: Session = {
      ...facts,
      id,
      key: key ?? (owner || id),
      owner,
      holder,
      rights,
      endpoint,
      used_at: now(),
      streaming: false,
      missed: new Set(),
      subscribed: new Set(),
      missed_uris: new Set(),
      log_level: null,
      asked: new Map(),
      running: new Map(),
    };
    sessions.set(id, session);
    quota.add(holder, session);
    return session;
  };
  /** What the session of another host holds beside its id, such as its subscriptions, stays there. */
  const adopt = (id: string, owner: string, holder: string, viewer: Viewer): Session | null => {
    if (ended.has(id)) return null;
    const facts = ids.read(id, boundTo(owner, viewer.endpoint));
    if (facts === null || now() - facts.opened_at > ADOPTED_MS || !makeRoom(holder)) return null;
    const session = add(id, owner, holder, viewer, facts);
    // What changed while it was on its way nobody knows.
    for (const kind of LIST_KINDS) session.missed.add(kind);
    return session;
  };
  return {
    open(owner, version, client, holder = owner, viewer = EVERYTHING, can = NOTHING) {
      if (!makeRoom(holder)) return null;
      const facts = { opened_at: now(), version, client, ...can };
      return add(ids.issue(boundTo(owner, viewer.endpoint), facts), owner, holder, viewer, facts);
    },
    find(id, owner, holder = () => owner, viewer = EVERYTHING) {
      const session = sessions.get(id) ?? adopt(id, owner, holder(), viewer);
      if (session === null || session.owner !== owner || session.endpoint.path !== viewer.endpoint.path) return null;
      session.used_at = now();
      session.rights = viewer.rights;
      sessions.delete(id);
      sessions.set(id, session);
      quota.touch(session.holder, session);
      return session;
    },
    end(session) {
      end(session);
      ended.keep(session.id);
    },
    endOf(is_gone) {
      for (const session of sessions.values()) if (is_gone(session.owner)) end(session, SESSION_ENDED);
    },
    sweep() {
      const before = now() - idle_ms;
      for (const session of sessions.values()) if (session.used_at < before && !busy(session)) end(session);
    },
    all: () => sessions.values(),
    isAsked: (id) => id !== null && (sessions.get(id)?.asked.size ?? 0) > 0,
    followed: (holder) => [...quota.of(holder)].map(({ subscribed }) => subscribed),
    count: () => sessions.size,
  };
}
