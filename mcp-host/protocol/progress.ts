import { createReport, type Report, type Wishes } from '#mcp-host/observe/report.ts';
import { EVENT_HEADERS, eventOf } from './streams.ts';

/** How a call tells of itself, and hears that its reader is gone. */
export interface Told {
  readonly report: Report;
  readonly left: AbortSignal;
}

/** A call that ends so soon is answered in one piece, which costs half of a stream. */
const SOON_MS = 20;
const encoder = new TextEncoder();

/**
 * Answers with events: what the call tells, then its response. @param name of what is called. @param answer the text of the
 * response, null when there is none to give; never rejects.
 */
export async function tell(wishes: Wishes, name: string, answer: (told: Told) => Promise<string | null>): Promise<Response> {
  const left = new AbortController();
  let text = '';
  let stream: ReadableStreamDefaultController<Uint8Array> | null = null;
  let ended = false;
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
  const report = createReport(wishes, name, send);
  const answered = answer({ report, left: left.signal }).then((response) => {
    report.close();
    ended = true;
    if (response === null) flush();
    else send(response);
  });
  await endsWithin(SOON_MS, answered);
  // One piece is no stream: its connection may idle out like any other.
  if (ended) {
    const bytes = encoder.encode(text);
    return new Response(bytes, {
      headers: { 'content-type': 'text/event-stream', 'content-length': String(bytes.length) },
    });
  }
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      stream = controller;
      flush();
    },
    cancel: () => left.abort(),
  });
  return new Response(body, { headers: EVENT_HEADERS });
}

function endsWithin(ms: number, work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void work.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
