/** A large answer on its way: what its reader has not taken is held in memory. */
export interface Sending {
  readonly bytes: number;
  /** More is to be sent. */
  grow(bytes: number): void;
  /** Who counts it is called with what was added. */
  onGrow(count: (bytes: number) => void): void;
  /** Cuts the connection that it is sent over. */
  drop(): void;
  /** Settles when it is dropped. */
  readonly dropped: Promise<void>;
  /** It was read, or its reader is gone. */
  end(): void;
  readonly ended: Promise<void>;
}

/** Texts from so many characters on, and prepared answers from so many bytes on, are followed until they are read. */
export const LARGE_TEXT = 15_000;
export const LARGE_BLOB = 256 * 1024;

export function createSending(bytes: number): Sending {
  const dropped = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let size = bytes;
  let count: (added: number) => void = () => undefined;
  return {
    get bytes() {
      return size;
    },
    grow(added) {
      size += added;
      count(added);
    },
    onGrow: (counting) => void (count = counting),
    drop: dropped.resolve,
    dropped: dropped.promise,
    end: ended.resolve,
    ended: ended.promise,
  };
}

const sendings = new WeakMap<Response, Sending>();

export function noteSending(response: Response, sending: Sending): Response {
  sendings.set(response, sending);
  return response;
}

export const sendingOf = (response: Response): Sending | undefined => sendings.get(response);
