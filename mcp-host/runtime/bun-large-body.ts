import type { Sending } from '#mcp-host/transports/sending.ts';

/**
 * The body of a large response. Bun (1.4) sends a text that was not ready at once without gathering its head: every piece of every
 * header is a system call of its own, fifteen in all, which cost more than the call. A body that is written directly has one for its
 * head and one for itself, and says when it was read. It is sent in chunks, because its length stands in no header.
 */
export function largeBody(answer: string | Blob, sending: Sending): ReadableStream<Uint8Array> {
  const source: Bun.DirectUnderlyingSource<Uint8Array> = {
    type: 'direct',
    async pull(controller) {
      try {
        void controller.write(typeof answer === 'string' ? Buffer.from(answer) : new Uint8Array(await answer.arrayBuffer()));
        const is_read = await Promise.race([flushed(controller), sending.dropped.then(() => false)]);
        // After the end a graceful stop of the server waits no more for whoever reads slowly.
        if (is_read) await controller.end();
        else controller.close(new Error('The reader of the answer does not keep up.'));
      } finally {
        sending.end();
      }
    },
    cancel: () => sending.end(),
  };
  // The types of the DOM do not know this kind of source.
  return new ReadableStream(source as unknown as UnderlyingDefaultSource<Uint8Array>);
}

async function flushed(controller: ReadableStreamDirectController): Promise<true> {
  await controller.flush(true);
  return true;
}
