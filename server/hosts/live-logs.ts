import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Context, Hono } from 'hono';
import * as v from 'valibot';
import type { HostLine, UsageBatch } from '#core/contract/observe/usage-batch.ts';
import { AppError } from '#core/errors.ts';
import { oneLine } from '#core/lib/text/wire-text.ts';
import { toInvalid } from '#core/process/issues.ts';
import { LOG_LEVELS } from '#core/contract/log-levels.ts';
import type { LogLine } from '#core/process/log.ts';
import { operations } from '#core/contract/index.ts';
import { leastRole } from '#core/contract/operation.ts';
import type { Actor } from '#core/context/context.ts';
import { requireRole } from '#core/context/roles.ts';
import { isSessionLive } from '#core/identity/sessions.ts';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { createLogRing, LIVE_SOURCES, type LogFilter, type LogReader, type LogRing, RING_LINES } from './log-ring.ts';
import { bearerOf, refuseOthers } from '#server/request/bearer.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { shareLines } from './shared-lines.ts';
import { isForeignOrigin, sessionActor } from '#server/request/session.ts';
import type { Socket, SocketOwner } from '#server/request/sockets.ts';

export const LOGS_PATH = '/api/v1/deploy/logs';
const PING_MS = 25_000;
const PING = JSON.stringify({ type: 'ping' });
/** A WebSocket with this many unread bytes is paused, and may miss lines. */
const UNREAD_BYTES = 256 * 1_024;
const MOST_READERS = 100;
/** Calls shown per batch. One line counts the rest. */
const MOST_CALLS = 100;
/** Application-defined close code (RFC 6455, section 7.4.2): sign in again. */
const SESSION_ENDED = 4_401;

/** The live log: lines of every server that shares a Redis with this one, those of hosts and agents, and one for each call. */
export interface LiveLogs {
  takeFromHost(host_id: string, batch: UsageBatch): void;
  takeFromAgent(lines: readonly HostLine[]): void;
}

/** @param ping_ms how often a quiet reader gets a ping and its session is checked. */
export function createLiveLogs(app: ControlPlane, ping_ms = PING_MS): LiveLogs & { addRoutes(router: Hono<ServerEnv>): void } {
  const ring = createLogRing(() => app.clock().getTime());
  const shareWithServers = shareLines(app, (line) => ring.add(line));
  const add = (line: LogLine) => {
    ring.add(line);
    shareWithServers(line);
  };
  app.log.tap(add);
  return {
    takeFromHost(host_id, { lines, groups, calls }) {
      for (const line of lines) add({ ...line, source: 'host', fields: { ...line.fields, host: host_id } });
      const count = calls.timestamp.length;
      for (let n = 0; n < Math.min(count, MOST_CALLS); n++) add(toLine(groups, calls, n));
      const more = count - MOST_CALLS;
      if (more <= 0) return;
      add({
        timestamp: app.clock().toISOString(),
        level: 'INFO',
        source: 'tool',
        message: 'more calls',
        fields: { count: more },
      });
    },
    takeFromAgent(lines) {
      for (const line of lines) add({ ...line, source: 'agent' });
    },
    addRoutes(router) {
      router.get(LOGS_PATH, async (c) => {
        const actor = await admin(app, c);
        const reading = { app, ring, filter: toFilter(c), actor, ping_ms };
        if (ring.readers() >= MOST_READERS) throw new AppError('unavailable', 'Too many live logs are open. Close one of them.');
        if ((c.req.header('upgrade') ?? '').toLowerCase() !== 'websocket') return eventStream(reading, c.req.raw.signal);
        if (c.env.upgrade?.(socketOwner(reading)) !== true) {
          throw new AppError('bad_request', 'This request cannot become a WebSocket.');
        }
        return new Response(null);
      });
    },
  };
}

function toLine(groups: UsageBatch['groups'], calls: UsageBatch['calls'], n: number): LogLine {
  const { kind, name, client, canary } = groups[calls.group[n] ?? 0] ?? { kind: 'tool', name: '', client: null };
  const [duration_ms, wait_ms, rows, code = null] = [calls.duration_ms[n], calls.wait_ms[n], calls.rows[n], calls.error[n]];
  const by = canary?.side === 'canary' ? { canary: canary.id } : {};
  return {
    timestamp: new Date(calls.timestamp[n] ?? 0).toISOString(),
    level: code === null ? 'INFO' : 'WARNING',
    source: 'tool',
    message: code === null ? `${kind} ${name}` : `${kind} ${name} failed: ${code}`,
    fields: { kind, name, duration_ms, wait_ms, rows, client, ...by, ...(code === null ? {} : { code }) },
  };
}

/** Checked before a stream is opened: no page of another origin may use the cookie, not even one in `cors_origins`. */
async function admin(app: ControlPlane, c: Context<ServerEnv>): Promise<Actor> {
  if (isForeignOrigin(app, c)) {
    throw new AppError('forbidden', 'Only pages of this server can open the live log.');
  }
  const actor = bearerOf(c) === null ? await sessionActor(app, c) : null;
  if (actor === null) return refuseOthers(app, c, 'Only a signed-in administrator can read the live log.');
  requireRole(actor, leastRole(operations['logs.refusals']));
  return actor;
}

const Query = v.strictObject({
  level: v.optional(v.pipe(v.string(), v.toUpperCase(), v.picklist(LOG_LEVELS))),
  source: v.optional(v.picklist(LIVE_SOURCES)),
  since: v.optional(
    v.union([
      v.pipe(v.string(), v.regex(/^\d{1,16}$/), v.transform(Number)),
      v.pipe(
        v.string(),
        v.isoTimestamp(),
        v.check((text) => !Number.isNaN(Date.parse(text))),
        v.transform((text) => new Date(text).toISOString()),
      ),
    ]),
  ),
});

/** A reader of events that reconnects sends its last sequence in `Last-Event-ID`. */
function toFilter(c: Context<ServerEnv>): LogFilter {
  const last = c.req.header('last-event-id');
  const given = c.req.query();
  const result = v.safeParse(Query, last === undefined ? given : { ...given, since: last });
  if (!result.success) throw toInvalid(result.issues, Object.keys(Query.entries));
  const { level, source, since } = result.output;
  return {
    ...(level === undefined ? {} : { level }),
    ...(source === undefined ? {} : { source }),
    ...(since === undefined ? {} : { since }),
  };
}

const hello = ({ env, kv }: ControlPlane, ring: LogRing): string =>
  JSON.stringify({
    type: 'hello',
    version: PRODUCT_VERSION,
    /** Whether the lines are those of every server, or of this one and its hosts. */
    servers: env.SVC_KV === 'redis' && kv.up() ? 'all' : 'one',
    seq: ring.newest(),
    lines: RING_LINES,
    ping_seconds: PING_MS / 1_000,
  });

interface Reading {
  readonly app: ControlPlane;
  readonly ring: LogRing;
  readonly filter: LogFilter;
  readonly actor: Actor;
  readonly ping_ms: number;
}

function socketOwner({ app, ring, filter, actor, ping_ms }: Reading): SocketOwner {
  let socket: Socket | null = null;
  let timer: ReturnType<typeof setInterval> | undefined;
  let reader: LogReader | null = null;
  const pump = () => {
    const [to, from] = [socket, reader];
    if (to === null || from === null) return;
    while (to.unread() < UNREAD_BYTES) {
      const frame = from.next();
      if (frame === null) return;
      to.send(frame.text);
    }
  };
  const ping = async () => {
    if (!(await isSessionLive(app, actor))) socket?.close(SESSION_ENDED, 'The session ended.');
    else if (socket !== null && socket.unread() < UNREAD_BYTES) socket.send(PING);
  };
  return {
    opened(opened: Socket) {
      socket = opened;
      socket.send(hello(app, ring));
      reader = ring.follow(filter, pump);
      timer = setInterval(() => void ping().catch(() => socket?.close(1_011, 'The session could not be checked.')), ping_ms);
      pump();
    },
    drained: pump,
    closed() {
      clearInterval(timer);
      reader?.close();
      socket = null;
    },
  };
}

const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

/** Creates frames only when the reader can take them, so that a slow one costs no memory. */
function eventStream({ app, ring, filter, actor, ping_ms }: Reading, signal: AbortSignal): Response {
  const encoder = new TextEncoder();
  let wake: () => void = () => undefined;
  let ping_due = false;
  let ended = false;
  const greeting = hello(app, ring);
  const reader = ring.follow(filter, () => wake());
  const end = () => {
    ended = true;
    clearInterval(timer);
    reader.close();
    wake();
  };
  const timer = setInterval(() => {
    void isSessionLive(app, actor).then((live) => {
      if (!live) return end();
      ping_due = true;
      wake();
    }, end);
  }, ping_ms);
  signal.addEventListener('abort', end);
  // The reader may have left while its session was checked.
  if (signal.aborted) end();
  let greeted = false;
  const next = (): string | null => {
    if (!greeted) {
      greeted = true;
      return `data: ${greeting}\n\n`;
    }
    const frame = reader.next();
    if (frame !== null) return `${frame.seq === undefined ? '' : `id: ${frame.seq}\n`}data: ${oneLine(frame.text)}\n\n`;
    if (!ping_due) return null;
    ping_due = false;
    return `data: ${PING}\n\n`;
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          if (ended) return controller.close();
          const text = next();
          if (text !== null) return controller.enqueue(encoder.encode(text));
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: HEADERS });
}
