import type { Admission } from '#mcp-host/auth/caller.ts';
import { type RpcId, META, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { Filter } from './followed.ts';
import type { Rights } from '#mcp-host/auth/rights.ts';
import type { Viewer } from '#mcp-host/registry/views.ts';
import type { Session } from '#mcp-host/requests/sessions.ts';
import { type Changes, type IsUpdated, NO_CHANGES } from '#mcp-host/registry/changes.ts';
import type { Peer } from '#mcp-host/runtime/types.ts';
import { type ListKind, LIST_KINDS } from '#mcp-host/registry/registry.ts';
import { eventOf, EVENT_HEADERS } from '#mcp-host/protocol/replies.ts';
import { type Quota, createQuota } from '#mcp-host/limits/quota.ts';

/** Streams open at once in one host, and those of one caller. */
const LIMIT = 10_000;

const LIMIT_EACH = 2_500;

/** Events and bytes that a reader may leave unread before its stream is closed; it opens a new one and lists again. */
const UNREAD = 256;

const UNREAD_BYTES = 1024 * 1024;

/** The same where results come over the stream, of which one may be larger than everything else. */
const UNREAD_RESULTS = 16 * UNREAD_BYTES;

/** What all readers together may leave unread of results. */
const UNREAD_IN_ALL = 256 * UNREAD_BYTES;

/** For smaller messages the limit of each stream is enough. */
const LARGE = 64 * 1024;

/** A comment line: opens the body at once, and keeps proxies from closing a quiet stream. */
const COMMENT = ':\n\n';

const encoder = new TextEncoder();

/** The long-lived event streams of the host: legacy GET streams and `subscriptions/listen`. */
export interface Streams {
  /** The GET stream of a session; a newer one takes the place of an older one, which ends. */
  attach(session: Session, by: Pick<Opener, 'caller' | 'peer'>): Response;
  listen(id: RpcId, filter: Filter, server_info: string, by: Opener): Response;
  /** URIs that the subscriptions of a caller follow, for each of them. */
  followed(holder: string): ReadonlySet<string>[];
  /** A stream for messages of any kind. @param first its first event. */
  carry(first: string, by: Opener, opened: (carrier: Carrier) => Carried): Response;
  /** Ends the stream of a session, if it has one. */
  detach(session: Session): void;
  /** Tells everybody what changed for them. */
  announce(changesFor: (viewer: Viewer) => Changes, sessions: Iterable<Session>): void;
  /** Takes the rights that callers have now, and tells those who see something else with them. */
  review(
    rightsOf: (admitted: Admission) => Rights | null,
    changesOf: (before: Viewer, after: Viewer) => Changes,
    sessions: () => Iterable<Session>,
  ): void;
  keepAlive(): void;
  /** Ends streams properly, once the answers have come that are still to come over them; without a listener, all of them. */
  end(listener?: number): void;
  /** Ends the streams of callers that are not let in any more. */
  endOf(is_gone: (admitted: Admission) => boolean): void;
  count(): number;
}

/** A stream as its user has it. */
interface Carrier {
  readonly send: (message: string) => void;
  /** No answer is to come over it any more. */
  readonly idle: () => void;
}

/** The user of a stream. */
interface Carried {
  /** Whether answers are still to come over it. */
  readonly is_busy: () => boolean;
  /** Called when the stream has ended. */
  readonly closed: () => void;
}

/** Who has a stream, and the connection that carries it. */
interface Opener {
  readonly caller: Admission;
  readonly peer: Reader;
  readonly viewer: Viewer;
  /** Whose limit the stream counts in. */
  readonly holder: string;
}

/** It reads in silence until the stream ends. */
type Reader = Pick<Peer, 'listener' | 'hold' | 'release'>;

interface Stream {
  readonly listener: number;
  readonly caller: Admission;
  readonly viewer: Viewer;
  readonly uris: ReadonlySet<string>;
  readonly send: (message: string) => void;
  readonly notify: (kind: ListKind) => void;
  /** Tells which of the resources that it follows have changed. */
  readonly update: (is_updated: IsUpdated) => void;
  readonly comment: () => void;
  readonly end: () => void;
  /** Ends it as soon as no answer is to come over it any more. */
  readonly finish: () => void;
  /** No answer is to come over it any more. */
  readonly idle: () => void;
  /** Bytes that were sent and not read yet. */
  readonly unread: () => number;
  /** Ends a stream whose reader does not keep up, with what it left unread. */
  readonly drop: () => void;
  /** Forgets a stream whose reader is gone. */
  readonly dispose: () => void;
}

/** What a stream says. */
interface Script {
  readonly kinds: readonly ListKind[];
  /** Resources whose changes it tells. */
  readonly uris: ReadonlySet<string>;
  /** Further params members of its notifications, as text. */
  readonly params: string;
  /** An event before all others, as it is written. */
  readonly first?: string;
  readonly greeting?: string;
  /** The last message of a stream that the host ends. */
  readonly farewell?: string;
  /** Bytes that may stay unread. */
  readonly unread_bytes?: number;
  readonly is_busy?: () => boolean;
  readonly opened?: (stream: Stream) => void;
  readonly closed?: (stream: Stream) => void;
}

function createStream(
  controller: ReadableStreamDefaultController<Uint8Array>,
  { peer, holder, viewer, caller }: Opener,
  { kinds, uris, params, first, greeting, farewell, unread_bytes, is_busy, opened, closed }: Script,
  open: Set<Stream>,
  quota: Quota<Stream>,
): Stream {
  const hasRoom = () => (controller.desiredSize ?? 0) > 0;
  const write = (text: string) => {
    if (!open.has(stream)) return;
    // Where there is room a message of any size goes out: what is held is the limit and one message at most.
    if (hasRoom()) controller.enqueue(encoder.encode(text));
    else if (unread_bytes === undefined) stream.end();
    else stream.drop();
  };
  const send = (message: string) => write(eventOf(message));
  let finishing = false;
  const stream: Stream = {
    listener: peer.listener,
    caller,
    viewer,
    uris,
    send,
    notify(kind) {
      if (kinds.includes(kind)) send(`{"jsonrpc":"2.0","method":"notifications/${kind}/list_changed","params":{${params}}}`);
    },
    update(is_updated) {
      for (const uri of uris) if (is_updated(uri)) send(updated(uri, params));
    },
    comment() {
      // Who reads a large result slowly is not idle.
      if (hasRoom()) write(COMMENT);
    },
    end() {
      if (!open.has(stream)) return;
      stream.dispose();
      if (farewell !== undefined) controller.enqueue(encoder.encode(eventOf(farewell)));
      controller.close();
    },
    finish() {
      finishing = true;
      if (is_busy?.() !== true) stream.end();
    },
    idle() {
      if (finishing) stream.end();
    },
    unread: () => (unread_bytes ?? UNREAD_BYTES) - (controller.desiredSize ?? 0),
    drop() {
      if (!open.has(stream)) return;
      stream.dispose();
      controller.error(new Error('The reader of the stream does not keep up.'));
    },
    dispose() {
      open.delete(stream);
      quota.remove(holder, stream);
      peer.release();
      closed?.(stream);
    },
  };
  open.add(stream);
  quota.add(holder, stream);
  write(first ?? COMMENT);
  if (greeting !== undefined) send(greeting);
  opened?.(stream);
  return stream;
}

const updated = (uri: string, params: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":${JSON.stringify(uri)}${params && `,${params}`}}}`;

/** @param limit of all callers. @param limit_each of one; beyond it, and for those that have fewer, its longest open stream ends. */
export function createStreams(limit = LIMIT, limit_each = LIMIT_EACH): Streams {
  const open = new Set<Stream>();
  /** Whoever left most unread makes room. */
  const relieve = (): void => {
    let [all, most] = [0, 0];
    let slowest: Stream | undefined;
    for (const stream of open) {
      const bytes = stream.unread();
      all += bytes;
      if (bytes > most) [most, slowest] = [bytes, stream];
    }
    if (all > UNREAD_IN_ALL) slowest?.drop();
  };
  const quota = createQuota<Stream>(limit, limit_each);

  const start = (by: Opener, script: Script): Response => {
    const surplus = quota.surplus(by.holder);
    if (surplus !== null) {
      const [oldest] = surplus;
      if (oldest === undefined)
        throw new RpcError(RPC.server, 'Too many streams are open. Try again later.', { http_status: 503 });
      oldest.end();
    }
    by.peer.hold();
    let stream: Stream | undefined;
    const limit = script.unread_bytes ?? UNREAD_BYTES;
    const body = new ReadableStream<Uint8Array>(
      {
        start(controller) {
          stream = createStream(controller, by, script, open, quota);
        },
        cancel: () => stream?.dispose(),
      },
      { highWaterMark: limit, size: (chunk) => Math.max(chunk?.byteLength ?? 0, limit / UNREAD) },
    );
    return new Response(body, { headers: EVENT_HEADERS });
  };

  const current = new WeakMap<Session, Stream>();
  const announce: Streams['announce'] = (changesFor, sessions) => {
    // What is sent over a stream may be lost with its connection, so that the next stream repeats it.
    for (const session of sessions) {
      const { kinds, is_updated } = changesFor(session);
      for (const kind of kinds) session.missed.add(kind);
      for (const uri of session.subscribed) if (is_updated(uri)) session.missed_uris.add(uri);
    }
    for (const stream of open) {
      const { kinds, is_updated } = changesFor(stream.viewer);
      for (const kind of kinds) stream.notify(kind);
      stream.update(is_updated);
    }
  };
  return {
    attach(session, { caller, peer }) {
      current.get(session)?.end();
      const missed = [...session.missed];
      session.missed.clear();
      const missed_uris = new Set(session.missed_uris);
      session.missed_uris.clear();
      return start(
        { caller, peer, viewer: session, holder: session.holder },
        {
          kinds: LIST_KINDS,
          uris: session.subscribed,
          params: '',
          opened(stream) {
            current.set(session, stream);
            session.streaming = true;
            for (const kind of missed) stream.notify(kind);
            stream.update((uri) => missed_uris.has(uri));
          },
          closed(stream) {
            if (current.get(session) !== stream) return;
            current.delete(session);
            session.streaming = false;
          },
        },
      );
    },
    listen(id, { kinds, uris, honoured }, server_info, by) {
      const meta = `"_meta":{"${META.subscription}":${JSON.stringify(id)}`;
      return start(by, {
        kinds,
        uris,
        params: `${meta}}`,
        greeting: `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{${meta}},"notifications":${JSON.stringify(honoured)}}}`,
        farewell: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete",${meta},"io.modelcontextprotocol/serverInfo":${server_info}}}}`,
      });
    },
    carry(first, by, opened) {
      let carried: Carried | undefined;
      return start(by, {
        kinds: [],
        uris: new Set(),
        params: '',
        first,
        unread_bytes: UNREAD_RESULTS,
        opened(stream) {
          carried = opened({
            send(message) {
              stream.send(message);
              if (message.length > LARGE) relieve();
            },
            idle: () => stream.idle(),
          });
        },
        is_busy: () => carried?.is_busy() === true,
        closed: () => carried?.closed(),
      });
    },
    followed: (holder) => [...quota.of(holder)].map(({ uris }) => uris),
    detach: (session) => current.get(session)?.end(),
    announce,
    review(rightsOf, changesOf, sessions) {
      const moved = new Map<Viewer, { readonly rights: Rights; readonly changes: Changes }>();
      const seen = new Set<Viewer>();
      const look = (admitted: Admission, viewer: Viewer) => {
        // A session sees what its stream does: the sign-in that opened it is the one that is told.
        if (seen.has(viewer)) return;
        seen.add(viewer);
        const rights = rightsOf(admitted) ?? viewer.rights;
        if (rights.key === viewer.rights.key) return;
        moved.set(viewer, { rights, changes: changesOf({ ...viewer }, { ...viewer, rights }) });
      };
      for (const { caller, viewer } of open) look(caller, viewer);
      for (const session of sessions()) look(session, session);
      if (moved.size === 0) return;
      announce((viewer) => moved.get(viewer)?.changes ?? NO_CHANGES, sessions());
      for (const [viewer, { rights }] of moved) viewer.rights = rights;
    },
    keepAlive() {
      for (const stream of open) stream.comment();
    },
    end(listener) {
      for (const stream of open) if (listener === undefined || stream.listener === listener) stream.finish();
    },
    endOf(is_gone) {
      for (const stream of open) if (is_gone(stream.caller)) stream.end();
    },
    count: () => open.size,
  };
}
