import { createProgressStream, type ProgressRequest, type ProgressStream } from '#mcp-host/requests/progress-stream.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { createSending, LARGE_TEXT, noteSending } from '#mcp-host/runtime/sending.ts';
import { EVENT_HEADERS, eventOf, eventResponse } from '#mcp-host/protocol/replies.ts';

/** A call that ends within this time is answered in one piece, which costs half as much as a stream. */
const SOON_MS = 20;
/** Proxies often cut an answer that is silent for a minute, such as one that waits for a person. */
const BEAT_MS = 15_000;
const encoder = new TextEncoder();
/** A result is written in pieces of this size, as fast as it is read. */
const PIECE = 64 * 1024;

/**
 * Answers with events: the messages of the call, then its response. @param name of the called definition. @param answer the text
 * of the response, null for none; never rejects.
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
  const sending = createSending(0);
  const unsent: Uint8Array[] = [];
  const handOver = () => {
    if (stream === null) return;
    while ((stream.desiredSize ?? 0) > 0) {
      const piece = unsent.shift();
      if (piece === undefined) break;
      stream.enqueue(piece);
    }
    if (unsent.length > 0 || !ended) return;
    stream.close();
    stream = null;
    sending.end();
  };
  const flush = () => {
    if (stream === null || left.signal.aborted) return;
    const bytes = encoder.encode(text);
    text = '';
    for (let at = 0; at < bytes.length; at += PIECE) unsent.push(bytes.subarray(at, at + PIECE));
    if (bytes.length >= LARGE_TEXT) sending.grow(bytes.length);
    handOver();
    if (sending.bytes > 0) sending.hold();
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
    pull: handOver,
    cancel() {
      clearInterval(beat);
      stream = null;
      sending.end();
      left.abort();
    },
  });
  sending.onDrop(() => {
    clearInterval(beat);
    unsent.length = 0;
    stream?.error(new Error('The reader of the answer does not keep up.'));
    stream = null;
  });
  return noteSending(new Response(body, { headers: EVENT_HEADERS }), sending);
}
