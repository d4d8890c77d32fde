import { closeSync, createWriteStream, mkdirSync, openSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip, gunzipSync } from 'node:zlib';
import type { FileSettings } from '#core/contract/definitions/file-settings.ts';
import { piecesOf } from './lines.ts';

const BEGINNING = 64 * 1024;

/** The first bytes of a text file, or of what it unpacks to. */
export function beginningOf(path: string): Buffer {
  const buffer = Buffer.alloc(BEGINNING);
  const file = openSync(path, 'r');
  try {
    const bytes = buffer.subarray(0, readSync(file, buffer, 0, BEGINNING, 0));
    if (!/\.gz$/i.test(path)) return bytes;
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 64 * BEGINNING }).subarray(0, BEGINNING);
  } catch {
    // DuckDB says better what is wrong with it.
    return Buffer.alloc(0);
  } finally {
    closeSync(file);
  }
}

/** Of what `TextDecoder` knows. Latin-1 is read as on the Web: Windows-1252 has the same letters, and those of spreadsheets too. */
type Decoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** How a file is decoded. @param wanted absent: it is UTF-16 where its first bytes show it, else UTF-8. */
export function decodingOf(beginning: Buffer, wanted: FileSettings['encoding']): Decoding {
  if (wanted === 'utf-8') return 'utf-8';
  if (wanted === 'latin-1') return 'windows-1252';
  return utf16Of(beginning) ?? (wanted === 'utf-16' ? 'utf-16le' : 'utf-8');
}

/** By the mark at the beginning, or by the zero bytes that are half of every Latin letter. */
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

/** DuckDB reads UTF-8 alone in full: files in other encodings are copied into `folder` first. @returns what to read. */
export async function inUtf8(paths: readonly string[], wanted: FileSettings['encoding'], folder: string): Promise<string[]> {
  const read: string[] = [];
  for (const path of paths) {
    const decoding = decodingOf(beginningOf(path), wanted);
    read.push(decoding === 'utf-8' ? path : await copied(path, decoding, folder));
  }
  return read;
}

/** Under its own name, by which DuckDB knows what is packed. */
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
