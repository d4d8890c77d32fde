/** A large answer on its way: what its reader has not taken is held in memory. */
export interface Sending {
  readonly bytes: number;
  /** More is to be sent. */
  grow(bytes: number): void;
  /** Its reader did not take all of it at once. */
  hold(): void;
  /** @param counter has it from when it is held. */
  onHold(counter: () => void): void;
  /** @param counter is called with what was added. */
  onGrow(counter: (bytes: number) => void): void;
  /** Cuts the connection that it is sent over. */
  drop(): void;
  onDrop(cut: () => void): void;
  /** It was read, or its reader is gone. */
  end(): void;
  onEnd(forget: () => void): void;
}

/** Texts from so many characters on, and prepared answers from so many bytes on, are followed until they are read. */
export const LARGE_TEXT = 15_000;
export const LARGE_BLOB = 256 * 1024;

/** Most large answers are taken at once: until one is held, it costs no more than this object. */
class LargeAnswer implements Sending {
  bytes: number;
  #held = false;
  #dropped = false;
  #ended = false;
  #count: () => void = () => undefined;
  #add: (bytes: number) => void = () => undefined;
  #cut: () => void = () => undefined;
  #forget: () => void = () => undefined;

  constructor(bytes: number) {
    this.bytes = bytes;
  }
  grow(bytes: number): void {
    this.bytes += bytes;
    this.#add(bytes);
  }
  hold(): void {
    if (this.#held) return;
    this.#held = true;
    this.#count();
  }
  onHold(counter: () => void): void {
    this.#count = counter;
    if (this.#held) counter();
  }
  onGrow(counter: (bytes: number) => void): void {
    this.#add = counter;
  }
  drop(): void {
    this.#dropped = true;
    this.#cut();
  }
  onDrop(cut: () => void): void {
    this.#cut = cut;
    if (this.#dropped) cut();
  }
  end(): void {
    this.#ended = true;
    this.#forget();
  }
  onEnd(forget: () => void): void {
    this.#forget = forget;
    if (this.#ended) forget();
  }
}

export const createSending = (bytes: number): Sending => new LargeAnswer(bytes);

const sendings = new WeakMap<Response, Sending>();

export function noteSending(response: Response, sending: Sending): Response {
  sendings.set(response, sending);
  return response;
}

export const sendingOf = (response: Response): Sending | undefined => sendings.get(response);
