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

/** Most streams open at once in one host, and of one caller. */
const LIMIT = 10_000;

const LIMIT_EACH = 2_500;

/** Most unread events and bytes of a stream. Beyond, it is closed; its client opens a new one and lists again. */
const UNREAD = 256;

const UNREAD_BYTES = 1024 * 1024;

/** The limit in bytes for streams that carry results, because one result may be very large. */
const UNREAD_RESULTS = 16 * UNREAD_BYTES;

/** Most unread bytes of results, of all readers together. */
const UNREAD_IN_ALL = 256 * UNREAD_BYTES;

/** The limit for all readers is checked after messages longer than this, in characters. */
const LARGE = 64 * 1024;

/** A comment line: opens the body at once, and keeps proxies from closing a quiet stream. */
const COMMENT = ':\n\n';

const encoder = new TextEncoder();

/** The long-lived event streams of the host: legacy GET streams and `subscriptions/listen`. */
export interface Streams {
  /** Opens the GET stream of a session; an older one ends. */
  attach(session: Session, by: Pick<Opener, 'caller' | 'peer'>): Response;
  listen(id: RpcId, filter: Filter, server_info: string, by: Opener): Response;
  /** The URIs of each of a caller's subscriptions. */
  followed(holder: string): ReadonlySet<string>[];
  /** Opens a stream for messages of any kind. @param first its first event. */
  carry(first: string, by: Opener, opened: (carrier: Carrier) => Carried): Response;
  /** Ends the stream of a session, if it has one. */
  detach(session: Session): void;
  /** Notifies every viewer of its changes. */
  announce(changesFor: (viewer: Viewer) => Changes, sessions: Iterable<Session>): void;
  /** Updates the rights of callers, and notifies those whose view changes. */
  review(
    rightsOf: (admitted: Admission) => Rights | null,
    changesOf: (before: Viewer, after: Viewer) => Changes,
    sessions: () => Iterable<Session>,
  ): void;
  keepAlive(): void;
  /** Ends the streams of a listener, or all of them, after their pending answers have been sent. */
  end(listener?: number): void;
  /** Ends the streams of callers that are no longer admitted. */
  endOf(is_gone: (admitted: Admission) => boolean): void;
  count(): number;
}

/** A stream, as seen by the code that uses it. */
interface Carrier {
  readonly send: (message: string) => void;
  /** Reports that no answer is pending. */
  readonly idle: () => void;
}

/** The code that uses a stream. */
interface Carried {
  /** Whether answers are pending. */
  readonly is_busy: () => boolean;
  /** Called when the stream has ended. */
  readonly closed: () => void;
}

/** The caller of a stream, and the connection that carries it. */
interface Opener {
  readonly caller: Admission;
  readonly peer: Reader;
  readonly viewer: Viewer;
  /** The holder of the limit that the stream counts in. */
  readonly holder: string;
}

/** The connection of a reader, which sends nothing until the stream ends. */
type Reader = Pick<Peer, 'listener' | 'hold' | 'release'>;

interface Stream {
  readonly listener: number;
  readonly caller: Admission;
  readonly viewer: Viewer;
  readonly uris: ReadonlySet<string>;
  readonly send: (message: string) => void;
  readonly notify: (kind: ListKind) => void;
  /** Sends a notification for each followed resource that has changed. */
  readonly update: (is_updated: IsUpdated) => void;
  readonly comment: () => void;
  readonly end: () => void;
  /** Ends the stream as soon as no answer is pending. */
  readonly finish: () => void;
  /** Reports that no answer is pending. */
  readonly idle: () => void;
  /** Bytes that were sent and not read yet. */
  readonly unread: () => number;
  /** Ends a stream whose reader does not keep up, and discards its unread bytes. */
  readonly drop: () => void;
  /** Removes a stream whose reader has left. */
  readonly dispose: () => void;
}

/** The content of a stream. */
interface Script {
  readonly kinds: readonly ListKind[];
  /** Resources whose changes it reports. */
  readonly uris: ReadonlySet<string>;
  /** Further params members of its notifications, as text. */
  readonly params: string;
  /** The text of an event before all others. */
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
    // If there is room, a message of any size is written, so memory is bounded by the limit and one message.
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
      // A reader that is slow with a large result needs no comment, because its connection is not idle.
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

export const createStreams = (limit = LIMIT, limit_each = LIMIT_EACH): Streams => new OpenStreams(limit, limit_each);

/**
 * @param limit most streams of all callers. @param limit_each most streams of one caller. At a limit, the caller's longest open
 * stream ends; a caller without streams displaces one of the caller with the most.
 */
class OpenStreams implements Streams {
  readonly #open = new Set<Stream>();
  readonly #quota: Quota<Stream>;
  readonly #current = new WeakMap<Session, Stream>();

  constructor(limit: number, limit_each: number) {
    this.#quota = createQuota<Stream>(limit, limit_each);
  }

  announce(changesFor: (viewer: Viewer) => Changes, sessions: Iterable<Session>): void {
    // A notification may be lost with its connection, so the next stream repeats it.
    for (const session of sessions) {
      const { kinds, is_updated } = changesFor(session);
      for (const kind of kinds) session.missed.add(kind);
      for (const uri of session.subscribed) if (is_updated(uri)) session.missed_uris.add(uri);
    }
    for (const stream of this.#open) {
      const { kinds, is_updated } = changesFor(stream.viewer);
      for (const kind of kinds) stream.notify(kind);
      stream.update(is_updated);
    }
  }

  attach(session: Session, { caller, peer }: Pick<Opener, 'caller' | 'peer'>): Response {
    this.#current.get(session)?.end();
    const missed = [...session.missed];
    session.missed.clear();
    const missed_uris = new Set(session.missed_uris);
    session.missed_uris.clear();
    return this.#start(
      { caller, peer, viewer: session, holder: session.holder },
      {
        kinds: LIST_KINDS,
        uris: session.subscribed,
        params: '',
        opened: (stream) => {
          this.#current.set(session, stream);
          session.streaming = true;
          for (const kind of missed) stream.notify(kind);
          stream.update((uri) => missed_uris.has(uri));
        },
        closed: (stream) => {
          if (this.#current.get(session) !== stream) return;
          this.#current.delete(session);
          session.streaming = false;
        },
      },
    );
  }

  listen(id: RpcId, { kinds, uris, honoured }: Filter, server_info: string, by: Opener): Response {
    const meta = `"_meta":{"${META.subscription}":${JSON.stringify(id)}`;
    return this.#start(by, {
      kinds,
      uris,
      params: `${meta}}`,
      greeting: `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{${meta}},"notifications":${JSON.stringify(honoured)}}}`,
      farewell: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete",${meta},"io.modelcontextprotocol/serverInfo":${server_info}}}}`,
    });
  }

  carry(first: string, by: Opener, opened: (carrier: Carrier) => Carried): Response {
    let carried: Carried | undefined;
    return this.#start(by, {
      kinds: [],
      uris: new Set(),
      params: '',
      first,
      unread_bytes: UNREAD_RESULTS,
      opened: (stream) => {
        carried = opened({
          send: (message) => {
            stream.send(message);
            if (message.length > LARGE) this.#relieve();
          },
          idle: () => stream.idle(),
        });
      },
      is_busy: () => carried?.is_busy() === true,
      closed: () => carried?.closed(),
    });
  }

  followed(holder: string): ReadonlySet<string>[] {
    return [...this.#quota.of(holder)].map(({ uris }) => uris);
  }

  detach(session: Session): void {
    this.#current.get(session)?.end();
  }

  review(
    rightsOf: (admitted: Admission) => Rights | null,
    changesOf: (before: Viewer, after: Viewer) => Changes,
    sessions: () => Iterable<Session>,
  ): void {
    const moved = new Map<Viewer, { readonly rights: Rights; readonly changes: Changes }>();
    const seen = new Set<Viewer>();
    const look = (admitted: Admission, viewer: Viewer) => {
      // A session and its stream share a viewer. The stream comes first, so the sign-in that opened it decides.
      if (seen.has(viewer)) return;
      seen.add(viewer);
      const rights = rightsOf(admitted) ?? viewer.rights;
      if (rights.key === viewer.rights.key) return;
      moved.set(viewer, { rights, changes: changesOf({ ...viewer }, { ...viewer, rights }) });
    };
    for (const { caller, viewer } of this.#open) look(caller, viewer);
    for (const session of sessions()) look(session, session);
    if (moved.size === 0) return;
    this.announce((viewer) => moved.get(viewer)?.changes ?? NO_CHANGES, sessions());
    for (const [viewer, { rights }] of moved) viewer.rights = rights;
  }

  keepAlive(): void {
    for (const stream of this.#open) stream.comment();
  }

  end(listener?: number): void {
    for (const stream of this.#open) if (listener === undefined || stream.listener === listener) stream.finish();
  }

  endOf(is_gone: (admitted: Admission) => boolean): void {
    for (const stream of this.#open) if (is_gone(stream.caller)) stream.end();
  }

  count(): number {
    return this.#open.size;
  }

  /** Drops the stream with the most unread bytes when all streams together exceed the limit. */
  #relieve(): void {
    let [all, most] = [0, 0];
    let slowest: Stream | undefined;
    for (const stream of this.#open) {
      const bytes = stream.unread();
      all += bytes;
      if (bytes > most) [most, slowest] = [bytes, stream];
    }
    if (all > UNREAD_IN_ALL) slowest?.drop();
  }

  #start(by: Opener, script: Script): Response {
    const surplus = this.#quota.surplus(by.holder);
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
        start: (controller) => {
          stream = createStream(controller, by, script, this.#open, this.#quota);
        },
        cancel: () => stream?.dispose(),
      },
      { highWaterMark: limit, size: (chunk) => Math.max(chunk?.byteLength ?? 0, limit / UNREAD) },
    );
    return new Response(body, { headers: EVENT_HEADERS });
  }
}
