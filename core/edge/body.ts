import { AppError } from '#core/errors.ts';
import { isPlainText } from '#core/process/issues.ts';

/**
 * Seconds without a byte after which a connection of our programs is closed, unless a stream or a call is under way. Load balancers
 * send a request over a connection that was idle for 60 s, and answer 502 when it is closed just then.
 */
export const IDLE_SECONDS = 75;

export interface BodyLimits {
  readonly max_bytes: number;
  /** For the whole body: somebody who sends a byte now and then holds a request open no longer. */
  readonly within_ms: number;
}

/** The text of a request as it arrives: no more is read than may be there. Throws `too_large`, `bad_request` or `cancelled`. */
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
    // What is left of a refused body is not waited for.
    void reader.cancel().catch(() => undefined);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new AppError('bad_request', 'The body is not valid UTF-8.', { cause });
  }
}

const sizeOf = (bytes: number): string => (bytes < 1_048_576 ? `${bytes / 1_024} KiB` : `${Math.round(bytes / 1_048_576)} MiB`);

/** A form of a token endpoint: who asks is known only by what it holds. */
const FORM: BodyLimits = { max_bytes: 16 * 1024, within_ms: 10_000 };

/** The parameters of a form. Throws as `readText` does, and `unsupported_media_type`. */
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
