import { AppError } from '#core/errors.ts';

/** Milliseconds that the reader of a download may be waited for, beside those that its bytes allow. */
const PATIENCE_MS = 30_000;
/** A reader may take a millisecond for this many bytes: 16 KiB per second. */
const LEAST_PER_MS = 16.384;

/** Bytes for a reader that is slower than the database: nothing is produced before it requests more. */
export interface DownloadStream {
  readonly body: ReadableStream<Uint8Array>;
  /** Resolves once the reader requested the bytes. Rejects when it left or is too slow. */
  send(bytes: Uint8Array): Promise<void>;
  /** Reports that the reader has left. */
  leave(): void;
  end(): void;
  /** Breaks the connection, so that the file does not look complete. */
  fail(error: unknown): void;
}

/** @param onLeave called when the reader leaves or is too slow. */
export function createDownloadStream(onLeave: (reason: AppError) => void, patience_ms = PATIENCE_MS): DownloadStream {
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  let request = newRequest();
  let served: PromiseWithResolvers<void> | null = null;
  let over: AppError | null = null;
  let waited_ms = 0;
  let sent = 0;

  const leave = (reason: AppError): void => {
    if (over !== null) return;
    over = reason;
    request.reject(reason);
    onLeave(reason);
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => void (controller = given),
      pull() {
        served = Promise.withResolvers<void>();
        request.resolve();
        return served.promise;
      },
      cancel: () => leave(new AppError('cancelled', 'The reader of the download left.')),
    },
    // Nothing is fetched before the reader requests it.
    { highWaterMark: 0 },
  );
  const untilRequested = async (): Promise<void> => {
    if (over !== null) throw over;
    const from = performance.now();
    const left_ms = patience_ms + sent / LEAST_PER_MS - waited_ms;
    const tooSlow = () => leave(new AppError('cancelled', 'The reader of the download was too slow.'));
    const timer = setTimeout(tooSlow, left_ms);
    try {
      await request.promise;
    } finally {
      clearTimeout(timer);
      waited_ms += performance.now() - from;
    }
  };
  const finish = (last: (given: ReadableStreamDefaultController<Uint8Array>) => void): void => {
    try {
      if (controller !== null) last(controller);
    } catch {
      // The reader left already.
    }
    served?.resolve();
  };
  return {
    body,
    async send(bytes) {
      if (bytes.byteLength === 0) return;
      await untilRequested();
      request = newRequest();
      sent += bytes.byteLength;
      finish((given) => given.enqueue(bytes));
    },
    leave: () => leave(new AppError('cancelled', 'The reader of the download left.')),
    end: () => finish((given) => given.close()),
    fail: (error) => finish((given) => given.error(error)),
  };
}

/** A request of the reader, for which nothing may wait. */
function newRequest(): PromiseWithResolvers<void> {
  const created = Promise.withResolvers<void>();
  created.promise.catch(() => undefined);
  return created;
}
