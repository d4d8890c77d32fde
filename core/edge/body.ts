import { AppError } from '#core/errors.ts';
import { isPlainText } from '#core/process/issues.ts';

/**
 * Idle timeout of connections, in seconds; open streams and running calls do not count as idle. Load balancers reuse connections
 * that were idle for up to 60 s, and answer 502 if one closes just then.
 */
export const IDLE_SECONDS = 75;

export interface BodyLimits {
  readonly max_bytes: number;
  /** Timeout for the whole body, so that a client cannot hold a request open by sending a byte now and then. */
  readonly within_ms: number;
}

/** Reads the body of a request as text, up to the limit. Throws `too_large`, `bad_request` or `cancelled`. */
export async function readText(request: Request, { max_bytes, within_ms }: BodyLimits): Promise<string> {
  const refusal = () => new AppError('too_large', `The body is larger than ${sizeOf(max_bytes)}.`);
  if (Number(request.headers.get('content-length') ?? 0) > max_bytes) throw refusal();
  if (request.body === null) return '';
  const reader = request.body.getReader();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    void reader.cancel().catch(() => undefined);
  }, within_ms);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new AppError('cancelled', 'The caller disconnected before the body arrived.', { cause });
      });
      if (late) throw new AppError('bad_request', `The body did not arrive within ${within_ms / 1_000} seconds.`);
      if (done) break;
      size += value.byteLength;
      if (size > max_bytes) throw refusal();
      chunks.push(value);
    }
  } finally {
    clearTimeout(timer);
    // The rest of a refused body is discarded in the background.
    void reader.cancel().catch(() => undefined);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new AppError('bad_request', 'The body is not valid UTF-8.', { cause });
  }
}

const sizeOf = (bytes: number): string => (bytes < 1_048_576 ? `${bytes / 1_024} KiB` : `${Math.round(bytes / 1_048_576)} MiB`);

/** Limits for the form of a token endpoint, whose caller is not authenticated before it is read. */
const FORM: BodyLimits = { max_bytes: 16 * 1024, within_ms: 10_000 };

/** Reads a form. Throws the same errors as `readText`, and `unsupported_media_type`. */
export async function readForm(request: Request, limits = FORM): Promise<URLSearchParams> {
  const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    throw new AppError('unsupported_media_type', 'Send a form: Content-Type must be application/x-www-form-urlencoded.');
  }
  const form = new URLSearchParams(await readText(request, limits));
  for (const pair of form) {
    if (!pair.every(isPlainText)) throw new AppError('bad_request', 'The form contains a NUL character; remove it.');
  }
  return form;
}

/** Returns the same response. Calls `ended` when the whole body was sent, and not when the client disconnects earlier. */
export function withEnd(response: Response, ended: () => void): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      ended();
      controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, response);
}
