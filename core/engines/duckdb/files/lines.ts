import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import type { BuiltTable } from './plan.ts';

/** The longest line that DuckDB reads. Its time to detect a longer one grows with the square of the length. */
const MAX_LINE_BYTES = 2_000_000;
/** Smaller than the maximum, so that a line that is too long spans a whole piece. */
const PIECE_BYTES = 1024 * 1024;
const LF = 10;
const CR = 13;

/** The first line of some CSV files that is too long. Null: there is none. DuckDB reports other errors. */
export async function longLine(paths: readonly string[]): Promise<BuiltTable['error']> {
  for (const path of paths) {
    const line = await firstLongLine(path).catch(() => null);
    if (line !== null) return { message: `Line ${line} is longer than ${MAX_LINE_BYTES.toLocaleString('en')} bytes.`, line };
  }
  return null;
}

/** Line number, counted from 1. Null: no line is too long. */
async function firstLongLine(path: string): Promise<number | null> {
  let length = 0;
  let at = 0;
  for await (const piece of piecesOf(path)) {
    const first = lineEnd(piece, 'first');
    if (length + (first ?? piece.length) > MAX_LINE_BYTES) return countLines(path, at);
    length = first === null ? length + piece.length : piece.length - lineEnd(piece, 'last')!;
    at += piece.length;
  }
  return null;
}

/** The line number of a byte offset, counted from 1. */
async function countLines(path: string, offset: number): Promise<number> {
  let lines = 1;
  let at = 0;
  for await (const piece of piecesOf(path)) {
    for (let n = piece.indexOf(LF); n >= 0 && at + n < offset; n = piece.indexOf(LF, n + 1)) lines++;
    at += piece.length;
    if (at >= offset) break;
  }
  return lines;
}

function lineEnd(piece: Buffer, which: 'first' | 'last'): number | null {
  const find = (byte: number): number => (which === 'first' ? piece.indexOf(byte) : piece.lastIndexOf(byte));
  const found = find(LF);
  const other = found >= 0 ? found : find(CR);
  return other < 0 ? null : other;
}

/** The decompressed bytes of a file, in pieces. */
export async function* piecesOf(path: string): AsyncGenerator<Buffer> {
  const file = createReadStream(path, { highWaterMark: PIECE_BYTES });
  const content = /\.gz$/i.test(path) ? file.pipe(createGunzip({ chunkSize: PIECE_BYTES })) : file;
  file.once('error', (error) => content.destroy(error));
  try {
    yield* content;
  } finally {
    file.destroy();
  }
}
