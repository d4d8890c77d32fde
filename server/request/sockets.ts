import type { WebSocketHandler } from 'bun';

/** One open WebSocket, as far as its owner needs it. */
export interface Socket {
  send(text: string): void;
  /** Bytes that the other side has not taken yet. */
  unread(): number;
  close(code: number, reason: string): void;
}

/** What the owner of a WebSocket is told. The other side's messages are not listened to. */
export interface SocketOwner {
  opened(socket: Socket): void;
  /** There is room again. */
  drained(): void;
  closed(): void;
}

/** Turns a request into a WebSocket; false when it is none. */
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
