/**
 * From so many bytes on, Bun (1.4) sends an answer that was not ready at once without gathering its head: every piece of every
 * header is a system call of its own, fifteen in all, which cost more than the call. A body that is written directly has one
 * for its head and one for itself. It is sent in chunks, because its length stands in no header.
 */
const LARGE = 15_000;

/** The body of a response: the text itself, or what is cheaper to send. */
export function bodyOf(text: string): string | ReadableStream<Uint8Array> {
  if (text.length < LARGE) return text;
  const bytes = Buffer.from(text);
  const source: Bun.DirectUnderlyingSource<Uint8Array> = {
    type: 'direct',
    async pull(controller) {
      void controller.write(bytes);
      // After the end a graceful stop of the server waits no more for whoever reads slowly.
      await controller.flush(true);
      await controller.end();
    },
  };
  // The types of the DOM do not know this kind of source.
  return new ReadableStream(source as unknown as UnderlyingDefaultSource<Uint8Array>);
}
