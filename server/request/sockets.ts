import type { WebSocketHandler } from 'bun';

/** One open WebSocket. */
export interface Socket {
  send(text: string): void;
  /** Bytes that were sent and not read yet. */
  unread(): number;
  close(code: number, reason: string): void;
}

/** Events for the owner of a WebSocket. Messages from the other side are ignored. */
export interface SocketOwner {
  opened(socket: Socket): void;
  /** The socket can take more messages. */
  drained(): void;
  closed(): void;
}

/** Turns a request into a WebSocket; false: the request is not an upgrade. */
export type Upgrade = (owner: SocketOwner) => boolean;

const LARGEST_MESSAGE = 1_024;

/** For `Bun.serve`: hands every event to the owner of the socket. */
export const socketHandler: WebSocketHandler<SocketOwner> = {
  data: {} as SocketOwner,
  maxPayloadLength: LARGEST_MESSAGE,
  open: (ws) =>
    ws.data.opened({
      send: (text) => void ws.sendText(text),
      unread: () => ws.getBufferedAmount(),
      close: (code, reason) => ws.close(code, reason),
    }),
  drain: (ws) => ws.data.drained(),
  close: (ws) => ws.data.closed(),
  message: () => undefined,
};
