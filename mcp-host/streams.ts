import { type ListKind, LIST_KINDS } from './registry.ts';
import { META, type Members, RPC, type RpcId, RpcError } from './protocol.ts';
import type { Session } from './sessions.ts';

/** Streams open at once in one host. */
const LIMIT = 10_000;
/** Events that a reader may leave unread before its stream is closed; it opens a new one and lists again. */
const UNREAD = 256;
const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};
/** A comment line: opens the body at once, and keeps proxies from closing a quiet stream. */
const COMMENT = ':\n\n';
const encoder = new TextEncoder();

/** The long-lived event streams of the host: legacy GET streams and `subscriptions/listen`. */
export interface Streams {
  /** The GET stream of a session; a newer one takes the place of an older one, which ends. */
  attach(session: Session, listener: number): Response;
  /** @throws RpcError for a filter that cannot be read. */
  listen(id: RpcId, params: Members, server_info: string, by: Opener): Response;
  /**
   * A stream for messages of any kind. @param first its first event. @param opened takes the function that sends a message, and
   * returns what is to be done when the stream has ended.
   */
  carry(first: string, by: Opener, opened: (send: (message: string) => void) => () => void): Response;
  /** Ends the stream of a session, if it has one. */
  detach(session: Session): void;
  announce(kinds: readonly ListKind[], sessions: Iterable<Session>): void;
  keepAlive(): void;
  /** Ends streams properly; without a listener, all of them. */
  end(listener?: number): void;
  /** Ends the streams of callers that are not let in any more. */
  endOf(is_gone: (owner: string) => boolean): void;
  count(): number;
}

/** Who has a stream, and over which listener. */
interface Opener {
  readonly caller: { readonly owner: string };
  readonly listener: number;
}

interface Stream {
  readonly listener: number;
  readonly owner: string;
  readonly send: (message: string) => void;
  readonly notify: (kind: ListKind) => void;
  readonly comment: () => void;
  readonly end: () => void;
  /** Forgets a stream whose reader is gone. */
  readonly dispose: () => void;
}

/** What a stream says. */
interface Script {
  readonly kinds: readonly ListKind[];
  readonly notification: (kind: ListKind) => string;
  /** An event before all others, as it is written. */
  readonly first?: string;
  readonly greeting?: string;
  /** The last message of a stream that the host ends. */
  readonly farewell?: string;
  readonly opened?: (stream: Stream) => void;
  readonly closed?: (stream: Stream) => void;
}

function createStream(
  controller: ReadableStreamDefaultController<Uint8Array>,
  { listener, caller: { owner } }: Opener,
  { kinds, notification, first, greeting, farewell, opened, closed }: Script,
  open: Set<Stream>,
): Stream {
  const write = (text: string) => {
    if (!open.has(stream)) return;
    controller.enqueue(encoder.encode(text));
    if ((controller.desiredSize ?? 0) < -UNREAD) stream.end();
  };
  const send = (message: string) => write(eventOf(message));
  const stream: Stream = {
    listener,
    owner,
    send,
    notify(kind) {
      if (kinds.includes(kind)) send(notification(kind));
    },
    comment: () => write(COMMENT),
    end() {
      if (!open.has(stream)) return;
      stream.dispose();
      if (farewell !== undefined) controller.enqueue(encoder.encode(eventOf(farewell)));
      controller.close();
    },
    dispose() {
      open.delete(stream);
      closed?.(stream);
    },
  };
  open.add(stream);
  write(first ?? COMMENT);
  if (greeting !== undefined) send(greeting);
  opened?.(stream);
  return stream;
}

const eventOf = (message: string): string => `event: message\ndata: ${message}\n\n`;

export function createStreams(): Streams {
  const open = new Set<Stream>();

  const start = (by: Opener, script: Script): Response => {
    if (open.size >= LIMIT) throw new RpcError(RPC.server, 'Too many streams are open. Try again later.', { http_status: 503 });
    let stream: Stream | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        stream = createStream(controller, by, script, open);
      },
      cancel: () => stream?.dispose(),
    });
    return new Response(body, { headers: HEADERS });
  };

  const current = new WeakMap<Session, Stream>();
  return {
    attach(session, listener) {
      current.get(session)?.end();
      const missed = [...session.missed];
      session.missed.clear();
      return start(
        { caller: session, listener },
        {
          kinds: LIST_KINDS,
          notification: (kind) => `{"jsonrpc":"2.0","method":"notifications/${kind}/list_changed"}`,
          opened(stream) {
            current.set(session, stream);
            session.streaming = true;
            for (const kind of missed) stream.notify(kind);
          },
          closed(stream) {
            if (current.get(session) !== stream) return;
            current.delete(session);
            session.streaming = false;
          },
        },
      );
    },
    listen(id, params, server_info, by) {
      const { kinds, honoured } = toFilter(params['notifications']);
      const meta = `"_meta":{"${META.subscription}":${JSON.stringify(id)}`;
      return start(by, {
        kinds,
        greeting: `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{${meta}},"notifications":${JSON.stringify(honoured)}}}`,
        notification: (kind) => `{"jsonrpc":"2.0","method":"notifications/${kind}/list_changed","params":{${meta}}}}`,
        farewell: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete",${meta},"io.modelcontextprotocol/serverInfo":${server_info}}}}`,
      });
    },
    carry(first, by, opened) {
      let closed: (() => void) | undefined;
      return start(by, {
        kinds: [],
        notification: () => '',
        first,
        opened(stream) {
          closed = opened(stream.send);
        },
        closed: () => closed?.(),
      });
    },
    detach: (session) => current.get(session)?.end(),
    announce(kinds, sessions) {
      for (const session of sessions) if (!current.has(session)) for (const kind of kinds) session.missed.add(kind);
      for (const stream of open) for (const kind of kinds) stream.notify(kind);
    },
    keepAlive() {
      for (const stream of open) stream.comment();
    },
    end(listener) {
      for (const stream of open) if (listener === undefined || stream.listener === listener) stream.end();
    },
    endOf(is_gone) {
      for (const stream of open) if (is_gone(stream.owner)) stream.end();
    },
    count: () => open.size,
  };
}

const FILTER: Readonly<Record<string, ListKind>> = {
  toolsListChanged: 'tools',
  resourcesListChanged: 'resources',
  promptsListChanged: 'prompts',
};

/** The part of a subscription filter that the host can serve: changes of lists, not of single resources. */
function toFilter(value: unknown): { kinds: ListKind[]; honoured: Record<string, true> } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RpcError(RPC.invalid_params, 'params.notifications must be an object that says which changes to send.');
  }
  const wanted = Object.entries(value as Members).filter(([name, on]) => on === true && Object.hasOwn(FILTER, name));
  const kinds = wanted.flatMap(([name]) => FILTER[name] ?? []);
  return { kinds, honoured: Object.fromEntries(wanted.map(([name]) => [name, true as const])) };
}
