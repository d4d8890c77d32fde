import type { Sending } from './sending.ts';
import { serve } from './bun-serve.ts';
import type { Runtime } from './types.ts';

export const BUN: Runtime = {
  serve,
  largeBody,
  sha256: (text) => Bun.SHA256.hash(text, 'hex'),
  quickHash: (text) => Number(Bun.hash.xxHash64(text) & 0xf_ffff_ffff_ffffn),
  verifyPassword: (password, hash) => Bun.password.verify(password, hash),
  newRequestId: () => Bun.randomUUIDv7(),
  standardInput: () => Bun.stdin.stream(),
};

/**
 * The body of a large response. If a text was not ready at once, Bun (1.4) writes every part of every header with a separate
 * system call, fifteen in all, which cost more than the call. A direct stream needs one for the head and one for the body, and
 * reports when it was read. It is sent in chunks, because it has no Content-Length.
 */
export function largeBody(answer: string | Blob, sending: Sending): ReadableStream<Uint8Array> {
  const write = (controller: ReadableStreamDirectController, bytes: Uint8Array<ArrayBuffer>): void | Promise<void> => {
    void controller.write(bytes);
    const flushed = Promise.resolve(controller.flush(true));
    // Most readers read the body at once.
    if (Bun.peek.status(flushed) !== 'fulfilled') return finish(controller, flushed, sending);
    void controller.end();
    sending.end();
  };
  const source: Bun.DirectUnderlyingSource<Uint8Array> = {
    type: 'direct',
    pull: (controller) =>
      typeof answer === 'string'
        ? write(controller, Buffer.from(answer))
        : answer.arrayBuffer().then((bytes) => write(controller, new Uint8Array(bytes))),
    cancel: () => sending.end(),
  };
  // The DOM types do not have this kind of source.
  return new ReadableStream(source as unknown as UnderlyingDefaultSource<Uint8Array>);
}

async function finish(controller: ReadableStreamDirectController, flushed: Promise<unknown>, sending: Sending): Promise<void> {
  const dropped = new Promise<false>((resolve) => sending.onDrop(() => resolve(false)));
  sending.hold();
  try {
    // After the end, a graceful stop of the server would no longer wait for a slow reader.
    if (await Promise.race([flushed.then(() => true), dropped])) await controller.end();
    else controller.close(new Error('The reader of the answer does not keep up.'));
  } finally {
    sending.end();
  }
}
