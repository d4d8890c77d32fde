import { createParser } from 'eventsource-parser';

/** Server-Sent Events of a body, until it ends. Events without a name are left out. @param arrived is called with every piece. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  take: (event: string, data: string) => void,
  arrived?: () => void,
): Promise<void> {
  const decoder = new TextDecoder();
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (event !== undefined) take(event, data);
    },
  });
  for await (const chunk of body) {
    arrived?.();
    parser.feed(decoder.decode(chunk, { stream: true }));
  }
}
