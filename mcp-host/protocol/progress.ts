import { createProgressStream, type ProgressRequest, type ProgressStream } from '#mcp-host/call/progress-stream.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { EVENT_HEADERS, eventOf, eventResponse } from './replies.ts';

/** A call that ends so soon is answered in one piece, which costs half of a stream. */
const SOON_MS = 20;
/** Proxies often cut an answer that is silent for a minute, as one that waits for a person is. */
const BEAT_MS = 15_000;
const encoder = new TextEncoder();

/**
 * Answers with events: the messages of the call, then its response. @param name of what is called. @param answer the text of the
 * response, null when there is none to give; never rejects.
 */
export async function streamProgress(
  request: ProgressRequest,
  name: string,
  answer: (progress: ProgressStream) => Promise<string | null>,
  beat_ms = BEAT_MS,
): Promise<Response> {
  const left = new AbortController();
  let text = '';
  let stream: ReadableStreamDefaultController<Uint8Array> | null = null;
  let ended = false;
  let beat: ReturnType<typeof setInterval> | undefined;
  const flush = () => {
    if (stream === null || left.signal.aborted) return;
    if (text !== '') stream.enqueue(encoder.encode(text));
    text = '';
    if (ended) stream.close();
  };
  const send = (message: string) => {
    text += eventOf(message);
    flush();
  };
  const progress = createProgressStream(request, name, send, left.signal);
  const answered = answer(progress).then((response) => {
    progress.close();
    ended = true;
    clearInterval(beat);
    if (response === null) flush();
    else send(response);
  });
  await withTimeout(answered, SOON_MS, () => undefined);
  if (ended) return eventResponse(text);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      stream = controller;
      flush();
      // A comment, which clients skip.
      if (!ended) beat = setInterval(() => controller.enqueue(encoder.encode(':\n\n')), beat_ms);
    },
    cancel() {
      clearInterval(beat);
      left.abort();
    },
  });
  return new Response(body, { headers: EVENT_HEADERS });
}
