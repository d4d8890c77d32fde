/** A large answer that is being sent, whose unread part takes memory. */
export interface Sending {
  readonly bytes: number;
  /** Adds bytes to send. */
  grow(bytes: number): void;
  /** Reports that some of the answer is unread. */
  hold(): void;
  /** @param counter called when some of the answer is unread. */
  onHold(counter: () => void): void;
  /** @param counter called with the added bytes. */
  onGrow(counter: (bytes: number) => void): void;
  /** Cuts its connection. */
  drop(): void;
  onDrop(cut: () => void): void;
  /** Reports that the answer was read, or that the reader has left. */
  end(): void;
  onEnd(forget: () => void): void;
}

/**
 * Texts from this number of characters on, and prepared answers from this number of bytes on, are tracked until they are read.
 */
export const LARGE_TEXT = 15_000;
export const LARGE_BLOB = 256 * 1024;

/** Most large answers are read at once, and then cost no more than this object. */
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

const streamed = new WeakSet<Response>();

/** Marks a response whose body is created while it is read, so that it is not gathered first. */
export function markStreamed(response: Response): Response {
  streamed.add(response);
  return response;
}

export const isStreamed = (response: Response): boolean => streamed.has(response);
