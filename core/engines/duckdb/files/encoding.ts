import { closeSync, createWriteStream, mkdirSync, openSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip, gunzipSync } from 'node:zlib';
import type { FileSettings } from '#core/contract/definitions/file-settings.ts';
import { piecesOf } from './lines.ts';

const BEGINNING = 64 * 1024;

/** The first bytes of a text file, after decompression. */
export function beginningOf(path: string): Buffer {
  const buffer = Buffer.alloc(BEGINNING);
  const file = openSync(path, 'r');
  try {
    const bytes = buffer.subarray(0, readSync(file, buffer, 0, BEGINNING, 0));
    if (!/\.gz$/i.test(path)) return bytes;
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 64 * BEGINNING }).subarray(0, BEGINNING);
  } catch {
    // DuckDB reports what is wrong with the file.
    return Buffer.alloc(0);
  } finally {
    closeSync(file);
  }
}

/**
 * Names for `TextDecoder`. Latin-1 is read as Windows-1252, as on the Web: it has the same letters, plus characters that
 * spreadsheets use.
 */
type Decoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** How a file is decoded. @param selected absent: UTF-16 if its first bytes show it, else UTF-8. */
export function decodingOf(beginning: Buffer, selected: FileSettings['encoding']): Decoding {
  if (selected === 'utf-8') return 'utf-8';
  if (selected === 'latin-1') return 'windows-1252';
  return utf16Of(beginning) ?? (selected === 'utf-16' ? 'utf-16le' : 'utf-8');
}

/** Recognised by the byte order mark, or by the zero bytes of Latin letters. */
function utf16Of(beginning: Buffer): 'utf-16le' | 'utf-16be' | null {
  const mark = beginning.subarray(0, 2).toString('hex');
  if (mark === 'fffe') return 'utf-16le';
  if (mark === 'feff') return 'utf-16be';
  const zeros = [0, 0];
  for (const [at, byte] of beginning.entries()) if (byte === 0) zeros[at % 2]! += 1;
  const [even = 0, odd = 0] = zeros;
  if (even + odd < beginning.length / 4) return null;
  return odd > 4 * even ? 'utf-16le' : even > 4 * odd ? 'utf-16be' : null;
}

/** DuckDB fully supports UTF-8 only, so files in other encodings are copied into `folder`. @returns the paths to read. */
export async function inUtf8(paths: readonly string[], selected: FileSettings['encoding'], folder: string): Promise<string[]> {
  const read: string[] = [];
  for (const path of paths) {
    const decoding = decodingOf(beginningOf(path), selected);
    read.push(decoding === 'utf-8' ? path : await copied(path, decoding, folder));
  }
  return read;
}

/** The copy has the same file name, because DuckDB recognises compression by it. */
async function copied(path: string, decoding: Decoding, folder: string): Promise<string> {
  const target = join(folder, basename(path));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const decoder = new TextDecoder(decoding);
  async function* decoded(): AsyncGenerator<string> {
    for await (const piece of piecesOf(path)) yield decoder.decode(piece, { stream: true });
    yield decoder.decode();
  }
  const file = createWriteStream(target, { mode: 0o600 });
  await (/\.gz$/i.test(path) ? pipeline(decoded, createGzip({ level: 1 }), file) : pipeline(decoded, file));
  return target;
}
