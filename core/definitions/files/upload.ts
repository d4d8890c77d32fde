import { statSync } from 'node:fs';
import { constants, open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ARRIVING } from '#core/engines/shared/files/folder-bytes.ts';
import { syncFolder } from '#core/lib/durable-file.ts';
import { AppError } from '#core/errors.ts';
import type { RequestContext } from '#core/context/context.ts';

/** An upload fails after this time without data. */
const IDLE_TIMEOUT_MS = 60_000;
/** A file of unknown size reserves space in steps of this many bytes. */
const RESERVED_BYTES = 1024 * 1024;

export interface Upload {
  readonly folder: string;
  readonly target: string;
  readonly max_bytes: number;
  /** Maximum of all files of the connection together, in bytes. */
  readonly quota: number;
  /** Present size of all files of the connection, in bytes. */
  readonly used: () => number;
  /** Checks the uploaded file before it replaces the target. */
  readonly accept: (path: string) => Promise<void>;
  /** Records the change in history and moves the file. */
  readonly replace: (move: () => Promise<void>, bytes: number) => Promise<void>;
}

/** Writes an upload to a temporary file, and renames it when it is complete. @returns its size in bytes. */
export async function receiveFile(
  { body, body_bytes, app, signal }: UploadCall,
  { folder, target, max_bytes, quota, used, accept, replace }: Upload,
): Promise<number> {
  const replaced = statSync(target, { throwIfNoEntry: false })?.size ?? 0;
  const checkSize = (bytes: number): void => {
    if (bytes > max_bytes) throw new AppError('too_large', `The file is larger than ${sizeOf(max_bytes)} (SVC_FILES_MAX_BYTES).`);
  };
  /** @param more bytes that are not on disk yet. */
  const checkQuota = (more: number): void => {
    if (used() - replaced + more <= quota) return;
    const detail = `The folder would be larger than ${sizeOf(quota)} (SVC_FILES_QUOTA_BYTES); delete files first.`;
    throw new AppError('too_large', detail);
  };
  const declared = body_bytes ?? 0;
  checkSize(declared);
  checkQuota(declared);
  const path = join(folder, `${ARRIVING}${app.ids()}`);
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0), 0o640);
  try {
    let bytes = 0;
    let counted = declared;
    // Reserves the declared size at once, so that concurrent uploads count it even while this one is slow.
    await file.truncate(declared);
    checkQuota(0);
    for await (const chunk of chunksOf(body, signal)) {
      bytes += chunk.byteLength;
      checkSize(bytes);
      if (bytes > counted) {
        checkQuota(bytes - counted);
        const available = quota - (used() - replaced) - (bytes - counted);
        counted = bytes + Math.min(RESERVED_BYTES, available);
        await file.truncate(counted);
        checkQuota(0);
      }
      for (let at = 0; at < chunk.byteLength;) at += (await file.write(chunk, at)).bytesWritten;
    }
    if (body_bytes !== undefined && body_bytes !== null && bytes !== body_bytes) {
      throw new AppError('cancelled', 'The caller disconnected before the whole file arrived.');
    }
    await file.truncate(bytes);
    // Concurrent uploads may have taken space.
    checkQuota(0);
    await file.sync();
    await file.close();
    await accept(path);
    await replace(async () => {
      await rename(path, target);
      await syncFolder(target);
    }, bytes);
    return bytes;
  } catch (error) {
    await file.close().catch(() => undefined);
    await unlink(path).catch(() => undefined);
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') {
      throw new AppError('too_large', 'The disk of the server is full; make room first.', { cause: error });
    }
    throw error;
  }
}

export type UploadCall = Pick<RequestContext, 'body' | 'body_bytes' | 'signal'> & {
  readonly app: { readonly ids: () => string };
};

/** The chunks of a body. Throws after `IDLE_TIMEOUT_MS` without data, and when the caller disconnects. */
async function* chunksOf(body: RequestContext['body'], signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  if (body === undefined || body === null) return;
  const reader = body.getReader();
  let state: 'open' | 'silent' | 'gone' = 'open';
  const end = (why: 'silent' | 'gone') => {
    state = why;
    void reader.cancel().catch(() => undefined);
  };
  const gone = () => end('gone');
  // The caller may have disconnected before the first read.
  if (signal?.aborted === true) gone();
  signal?.addEventListener('abort', gone, { once: true });
  try {
    for (;;) {
      const timer = setTimeout(() => end('silent'), IDLE_TIMEOUT_MS);
      const next = await reader.read().catch((cause: unknown) => {
        throw new AppError('cancelled', 'The caller disconnected before the whole file arrived.', { cause });
      });
      clearTimeout(timer);
      refuse(state);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal?.removeEventListener('abort', gone);
    void reader.cancel().catch(() => undefined);
  }
}

function refuse(state: 'open' | 'silent' | 'gone'): void {
  if (state === 'gone') throw new AppError('cancelled', 'The caller disconnected before the whole file arrived.');
  if (state === 'silent')
    throw new AppError('bad_request', `Nothing of the file arrived for ${IDLE_TIMEOUT_MS / 1_000} seconds.`);
}

const sizeOf = (bytes: number): string =>
  bytes >= 1024 ** 3 ? `${+(bytes / 1024 ** 3).toFixed(1)} GiB` : `${+(bytes / 1024 ** 2).toFixed(1)} MiB`;
