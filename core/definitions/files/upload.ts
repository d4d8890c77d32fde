import { statSync } from 'node:fs';
import { constants, open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ARRIVING } from '#core/engines/shared/files/folder-bytes.ts';
import { syncFolder } from '#core/lib/durable-file.ts';
import { AppError } from '#core/errors.ts';
import type { RequestContext } from '#core/context/context.ts';

/** How long nothing may arrive. */
const SILENT_MS = 60_000;
/** A file of unknown size takes room in steps of so many bytes. */
const ROOM = 1024 * 1024;

export interface Upload {
  readonly folder: string;
  readonly target: string;
  readonly max_bytes: number;
  /** Of all files of the connection together. */
  readonly quota: number;
  /** Their bytes now. */
  readonly used: () => number;
  /** Looks at what has arrived, right before it takes its place. */
  readonly accept: (path: string) => Promise<void>;
  /** Notes that the file changes, and moves it. */
  readonly place: (move: () => Promise<void>, bytes: number) => Promise<void>;
}

/** Writes what arrives beside the file and puts it in its place once all is there. @returns its bytes. */
export async function receiveFile(
  { body, body_bytes, app, signal }: UploadCall,
  { folder, target, max_bytes, quota, used, accept, place }: Upload,
): Promise<number> {
  const replaced = statSync(target, { throwIfNoEntry: false })?.size ?? 0;
  const checkSize = (bytes: number): void => {
    if (bytes > max_bytes) throw new AppError('too_large', `The file is larger than ${sizeOf(max_bytes)} (SVC_FILES_MAX_BYTES).`);
  };
  /** @param more bytes that are not in the folder yet. */
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
    // It takes all of its room at once: whoever withholds the last bytes leaves no more to others for that.
    await file.truncate(declared);
    checkQuota(0);
    for await (const chunk of chunksOf(body, signal)) {
      bytes += chunk.byteLength;
      checkSize(bytes);
      if (bytes > counted) {
        checkQuota(bytes - counted);
        const left = quota - (used() - replaced) - (bytes - counted);
        counted = bytes + Math.min(ROOM, left);
        await file.truncate(counted);
        checkQuota(0);
      }
      for (let at = 0; at < chunk.byteLength;) at += (await file.write(chunk, at)).bytesWritten;
    }
    if (body_bytes !== undefined && body_bytes !== null && bytes !== body_bytes) {
      throw new AppError('cancelled', 'The caller disconnected before the whole file arrived.');
    }
    await file.truncate(bytes);
    // Others may have arrived in the meantime.
    checkQuota(0);
    await file.sync();
    await file.close();
    await accept(path);
    await place(async () => {
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

/** The parts of a body as they arrive; nothing for a minute, or a caller that goes away, ends them. */
async function* chunksOf(body: RequestContext['body'], signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  if (body === undefined || body === null) return;
  const reader = body.getReader();
  let state: 'open' | 'silent' | 'gone' = 'open';
  const end = (why: 'silent' | 'gone') => {
    state = why;
    void reader.cancel().catch(() => undefined);
  };
  const gone = () => end('gone');
  // It may have left before its first byte was asked for.
  if (signal?.aborted === true) gone();
  signal?.addEventListener('abort', gone, { once: true });
  try {
    for (;;) {
      const timer = setTimeout(() => end('silent'), SILENT_MS);
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
  if (state === 'silent') throw new AppError('bad_request', `Nothing of the file arrived for ${SILENT_MS / 1_000} seconds.`);
}

const sizeOf = (bytes: number): string =>
  bytes >= 1024 ** 3 ? `${+(bytes / 1024 ** 3).toFixed(1)} GiB` : `${+(bytes / 1024 ** 2).toFixed(1)} MiB`;
