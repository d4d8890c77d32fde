import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Hono } from 'hono';
import type { Announcement } from '#core/contract/announcements.ts';
import { onAnnounced } from '#core/platform/announcements.ts';
import { AppError } from '#core/errors.ts';
import { isSessionLive } from '#core/identity/sessions.ts';
import type { Actor } from '#core/context/context.ts';
import { bearerOf, refuseOthers } from '#server/request/bearer.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { isForeignOrigin, sessionActor } from '#server/request/session.ts';
import type { Socket, SocketOwner } from '#server/request/sockets.ts';

export const CHANGES_PATH = '/api/v1/changes';
const PING_MS = 25_000;
const MOST_READERS = 500;
/** A reader with this many unread bytes is closed; it reads everything again when it reconnects. */
const UNREAD_BYTES = 64 * 1_024;
/** Application-defined close code (RFC 6455, section 7.4.2): sign in again. */
const SESSION_ENDED = 4_401;
const TRY_AGAIN = 1_013;

/**
 * Notifies open pages of changes by name only; each page then requests the data that it may see. @param ping_ms how often the
 * session of a reader is checked.
 */
export function addChanges(app: ControlPlane, router: Hono<ServerEnv>, ping_ms = PING_MS): void {
  const readers = new Set<(all: readonly Announcement[]) => void>();
  onAnnounced(app, (all) => {
    for (const tell of readers) tell(all);
  });
  const ownerOf = (actor: Actor): SocketOwner => {
    let socket: Socket | null = null;
    let timer: ReturnType<typeof setInterval> | undefined;
    const send = (message: object) => {
      if (socket === null) return;
      if (socket.unread() > UNREAD_BYTES) socket.close(TRY_AGAIN, 'The reader is too slow.');
      else socket.send(JSON.stringify(message));
    };
    const tell = (changed: readonly Announcement[]) => send({ changed });
    const ping = async () => {
      if (await isSessionLive(app, actor)) send({});
      else socket?.close(SESSION_ENDED, 'The session ended.');
    };
    return {
      opened(opened) {
        socket = opened;
        readers.add(tell);
        send({ began: true });
        timer = setInterval(() => void ping().catch(() => socket?.close(1_011, 'The session could not be checked.')), ping_ms);
      },
      drained: () => undefined,
      closed() {
        clearInterval(timer);
        readers.delete(tell);
        socket = null;
      },
    };
  };
  router.get(CHANGES_PATH, async (c) => {
    if (isForeignOrigin(app, c)) throw new AppError('forbidden', 'Only pages of this server can follow its changes.');
    const actor = bearerOf(c) === null ? await sessionActor(app, c) : null;
    if (actor === null) return refuseOthers(app, c, 'Only a signed-in person can follow changes.');
    if (readers.size >= MOST_READERS) throw new AppError('unavailable', 'Too many pages follow changes. Close one of them.');
    const is_socket = (c.req.header('upgrade') ?? '').toLowerCase() === 'websocket' && c.env.upgrade?.(ownerOf(actor)) === true;
    if (!is_socket) throw new AppError('bad_request', 'This request cannot become a WebSocket.');
    return new Response(null);
  });
}
