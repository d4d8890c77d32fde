import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '#core/errors.ts';

export interface ModelSource {
  readonly url: string;
  /** Hexadecimal SHA-256 of the file. */
  readonly sha256: string;
}

export interface DownloadOptions {
  /** `SVC_PROMPT_GUARD_ML_DOWNLOAD`. */
  readonly allowed: boolean;
  /** The server's guarded fetch: it classifies the address and follows no redirect. */
  readonly fetch: (url: string, init: { redirect: 'error'; signal: AbortSignal }) => Promise<Response>;
  readonly max_bytes?: number;
  readonly timeout_ms?: number;
}

/** The names a model folder may hold. */
export type ModelFile = 'model.onnx' | 'tokenizer.json' | 'config.json';

const MAX_BYTES = 1024 * 1024 * 1024;
const TIMEOUT_MS = 10 * 60 * 1000;

/**
 * Downloads one file of a model into `dir` and puts it in its place only when its digest is right. Throws `forbidden` when
 * downloads are off, `invalid` for a bad source or digest, `too_large`, and `unavailable` when the file can't be had.
 */
export async function downloadModel(dir: string, name: ModelFile, source: ModelSource, options: DownloadOptions): Promise<void> {
  const { allowed, fetch, max_bytes = MAX_BYTES, timeout_ms = TIMEOUT_MS } = options;
  if (!allowed)
    throw new AppError('forbidden', 'Downloads of the prompt guard model are switched off by SVC_PROMPT_GUARD_ML_DOWNLOAD.');
  if (!source.url.startsWith('https://'))
    throw new AppError('invalid', 'The address of the prompt guard model must begin with https://.');
  if (!/^[0-9a-f]{64}$/i.test(source.sha256)) {
    throw new AppError(
      'invalid',
      'The prompt guard model needs its SHA-256 as 64 hexadecimal digits; nothing is downloaded without it.',
    );
  }
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const partial = join(dir, `.${name}.${randomBytes(6).toString('hex')}.part`);
  try {
    const digest = await save(await request(source.url, fetch, timeout_ms), partial, max_bytes);
    if (digest !== source.sha256.toLowerCase()) {
      throw new AppError(
        'invalid',
        'The downloaded prompt guard model has another SHA-256 than the one configured; it was discarded.',
      );
    }
    await rename(partial, join(dir, name));
  } finally {
    await rm(partial, { force: true });
  }
}

async function request(url: string, fetch: DownloadOptions['fetch'], timeout_ms: number): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(timeout_ms) }).catch((cause: unknown) => {
    throw unavailable(cause);
  });
  if (!response.ok || response.body === null) throw unavailable(new Error(`status ${response.status}`));
  return response.body;
}

async function* readable(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (cause) {
    throw unavailable(cause);
  }
}

/** A refused address says so itself. */
const unavailable = (cause?: unknown) =>
  cause instanceof AppError && cause.code === 'private_network_blocked'
    ? cause
    : new AppError('unavailable', 'The prompt guard model could not be downloaded.', { cause });

/** Writes the stream and gives its SHA-256. */
async function save(body: ReadableStream<Uint8Array>, path: string, max_bytes: number): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path, 'wx', 0o600);
  try {
    let size = 0;
    for await (const chunk of readable(body)) {
      size += chunk.byteLength;
      if (size > max_bytes) throw new AppError('too_large', 'The prompt guard model is larger than the limit; it was discarded.');
      hash.update(chunk);
      await file.write(chunk);
    }
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}
