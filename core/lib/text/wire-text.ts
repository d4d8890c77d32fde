/**
 * The escape of a lone surrogate in JSON.stringify's output; escaped backslashes and pairs are matched first, so that they are
 * skipped.
 */
const HALF = /\\\\|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\ud[89a-f][\da-f]{2}/gi;

/** The same JSON without lone surrogates: UTF-8 cannot encode them, so clients in other languages fail on them. */
export const wellFormedJson = (json: string): string =>
  json.includes('\\ud') ? json.replaceAll(HALF, (found) => (found.length === 6 ? '\ufffd' : found)) : json;

/** Characters that some line readers, such as Python's, treat as line ends. JSON does not escape them. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** The same JSON for a stream of lines or events, where each message must stay on one line. */
export const oneLine = (json: string): string =>
  wellFormedJson(json).replaceAll(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Applies `oneLine` to the events of a library's response. */
export function withWholeEvents(response: Response): Response {
  if (response.body === null || response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response;
  const { status, headers } = response;
  const whole = new TransformStream<string, string>({ transform: (text, out) => out.enqueue(oneLine(text)) });
  const decoded = response.body.pipeThrough(new TextDecoderStream());
  return new Response(decoded.pipeThrough(whole).pipeThrough(new TextEncoderStream()), { status, headers });
}
