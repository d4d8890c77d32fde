/** What JSON.stringify writes of half a character, behind what it must not be taken for: an escaped backslash, or a whole pair. */
const HALF = /\\\\|\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\ud[89a-f][\da-f]{2}/gi;

/** The same JSON without half characters: no UTF-8 has them, so clients in other languages fail on them. */
export const wellFormedJson = (json: string): string =>
  json.includes('\\ud') ? json.replaceAll(HALF, (found) => (found.length === 6 ? '\ufffd' : found)) : json;

/** Characters at which readers of lines cut as well, such as Python's; JSON leaves them as they are. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** The same JSON for a stream of lines or events, where each message has to stay in one piece. */
export const oneLine = (json: string): string =>
  wellFormedJson(json).replaceAll(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** An answer of a library whose events are to stay in one piece each. */
export function withWholeEvents(response: Response): Response {
  if (response.body === null || response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response;
  const { status, headers } = response;
  const whole = new TransformStream<string, string>({ transform: (text, out) => out.enqueue(oneLine(text)) });
  const decoded = response.body.pipeThrough(new TextDecoderStream());
  return new Response(decoded.pipeThrough(whole).pipeThrough(new TextEncoderStream()), { status, headers });
}
