import { AppError } from '#core/errors.ts';
import type { Stop } from '#core/engines/shared/stop.ts';
import { type ListKind, LIST_KINDS } from '#mcp-host/registry/registry.ts';
import type { Members, RpcId } from '#mcp-host/protocol/messages.ts';
import type { Viewer } from '#mcp-host/registry/views.ts';
import type { McpLogLevel } from '#mcp-host/protocol/messages.ts';
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

/** The reason for calls whose session ended, for example with its sign-in; the caller may still wait for the answer. */
export const SESSION_ENDED = new AppError('cancelled', 'The session has ended. Send initialize again.');

/** A session of the protocol revisions before 2026-07-28. It belongs to the endpoint at which it was opened. */
export interface Session extends Viewer {
  readonly id: string;
  readonly key: string;
  /** The credential that opened it; no other may use it. */
  readonly owner: string;
  /** The holder of the limit that the session counts in: its owner, or its address without a credential. */
  readonly holder: string;
  readonly version: string;
  readonly client: string;
  readonly opened_at: number;
  used_at: number;
  streaming: boolean;
  /** Changes that the client may have missed since its stream was opened: the next stream begins with them. */
  readonly missed: Set<ListKind>;
  /** URIs of the resources that the client subscribed to. `missed_uris`: the ones whose changes it may have missed. */
  readonly subscribed: Set<string>;
  readonly missed_uris: Set<string>;
  /** Least level of log messages that the client requested; null: none. */
  log_level: McpLogLevel | null;
  /** Whether the client shows forms. */
  readonly shows_forms: boolean;
  /** Whether the client shows no forms, but opens a page for its person. */
  readonly opens_pages: boolean;
  /** Whether the client draws results (MCP Apps). */
  readonly draws_views: boolean;
  /** Open requests of the host to the client by id, each with the function that takes its response. */
  readonly asked: Map<string, (response: Members) => void>;
  /** Running calls with their ids; a careless client may use one id for several. */
  readonly running: Map<Pick<Stop, 'abort'>, RpcId>;
}

export interface Sessions {
  /** Opens a session; null when the quota is full of sessions in use. */
  open(owner: string, version: string, client: string, holder?: string, viewer?: Viewer, can?: ClientCan): Session | null;
  /**
   * Finds a session, or adopts one of another host. Null for an unknown id, an ended session and another caller's session alike.
   */
  find(id: string, owner: string, holder?: () => string, viewer?: Viewer): Session | null;
  /** Ends a session at the request of its client. */
  end(session: Session): void;
  /** Ends the sessions of callers that are no longer admitted. */
  endOf(is_gone: (owner: string) => boolean): void;
  /** Ends idle sessions. */
  sweep(): void;
  all(): Iterable<Session>;
  /** Whether a call of the session waits for an answer of its client. */
  isAsked(id: string | null): boolean;
  /** The URIs of each of a caller's sessions. */
  followed(holder: string): ReadonlySet<string>[];
  count(): number;
  /** Sets the listener that is called with each session that ends. */
  onEnd(listener: (session: Session) => void): void;
}

export interface SessionsOptions {
  readonly now: () => number;
  /** Absent: ids are valid on this host only. */
  readonly ids?: SessionIds;
  /** Absent: ended sessions are forgotten when the host ends. */
  readonly ended?: EndedSessions;
  readonly idle_ms?: number;
  readonly limit?: number;
  /** Most sessions of one caller. */
  readonly limit_each?: number;
}

/** Sessions of other hosts are adopted for this time after their ids were issued. */
export const ADOPTED_MS = 7 * 24 * 3_600_000;

const NOTHING: ClientCan = { shows_forms: false, opens_pages: false, draws_views: false };

const EVERYTHING: Viewer = { rights: FULL_RIGHTS, endpoint: WHOLE };

/** The owner and endpoint that an id is signed for. */
const boundTo = (owner: string, { path }: Endpoint): string => (path === '' ? owner : `${owner}\n${path}`);

export function createSessions(options: SessionsOptions): Sessions {
  const { now, idle_ms = 30 * 60_000, limit = 10_000, limit_each = 2_500, ids = createSessionIds([]) } = options;
  let onEnd: (session: Session) => void = () => undefined;
  /** In order of last use, the longest unused first. */
  const sessions = new Map<string, Session>();
  const quota = createQuota<Session>(limit, limit_each);
  const ended = options.ended ?? createEndedSessions({ now, lasts_ms: ADOPTED_MS });
  // The peer on standard input cannot open a second session, so its session ends only with the peer.
  const busy = ({ owner, streaming, running }: Session) => streaming || running.size > 0 || owner === LOCAL.owner;
  /** @param reason for its calls, whose callers may still be connected; absent: the client ended the session. */
  const end = (session: Session, reason?: AppError) => {
    if (sessions.delete(session.id)) {
      quota.remove(session.holder, session);
      ended.add(session.id);
      onEnd(session);
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
  /** Adopts a session of another host. Only the facts in its id come along: subscriptions, for example, stay on that host. */
  const adopt = (id: string, owner: string, holder: string, viewer: Viewer): Session | null => {
    if (ended.has(id)) return null;
    const facts = ids.read(id, boundTo(owner, viewer.endpoint));
    if (facts === null || now() - facts.opened_at > ADOPTED_MS || !makeRoom(holder)) return null;
    const session = add(id, owner, holder, viewer, facts);
    // Changes between the two hosts are unknown, so all lists count as changed.
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
    onEnd(listener) {
      onEnd = listener;
    },
  };
}
