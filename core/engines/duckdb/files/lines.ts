import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import type { BuiltTable } from './plan.ts';

/** The longest line that DuckDB reads. The time it takes to find that out grows with the square of the length. */
const LONGEST = 2_000_000;
/** Shorter than the longest line: what is too long reaches over a whole piece. */
const PIECE = 1024 * 1024;
const LF = 10;
const CR = 13;

/** The first line of some CSV files that is too long; null: there is none. What else is wrong with them, DuckDB says. */
export async function longLine(paths: readonly string[]): Promise<BuiltTable['error']> {
  for (const path of paths) {
    const line = await firstLongLine(path).catch(() => null);
    if (line !== null) return { message: `Line ${line} is longer than ${LONGEST.toLocaleString('en')} bytes.`, line };
  }
  return null;
}

/** Counted from 1. */
async function firstLongLine(path: string): Promise<number | null> {
  let length = 0;
  let at = 0;
  for await (const piece of piecesOf(path)) {
    const first = lineEnd(piece, 'first');
    if (length + (first ?? piece.length) > LONGEST) return countLines(path, at);
    length = first === null ? length + piece.length : piece.length - lineEnd(piece, 'last')!;
    at += piece.length;
  }
  return null;
}

/** The line in which a place is, which is as far as the line that is too long was followed. */
async function countLines(path: string, place: number): Promise<number> {
  let lines = 1;
  let at = 0;
  for await (const piece of piecesOf(path)) {
    for (let n = piece.indexOf(LF); n >= 0 && at + n < place; n = piece.indexOf(LF, n + 1)) lines++;
    at += piece.length;
    if (at >= place) break;
  }
  return lines;
}

function lineEnd(piece: Buffer, which: 'first' | 'last'): number | null {
  const find = (byte: number): number => (which === 'first' ? piece.indexOf(byte) : piece.lastIndexOf(byte));
  const found = find(LF);
  const other = found >= 0 ? found : find(CR);
  return other < 0 ? null : other;
}

/** As they are in the file, or in what it unpacks to. */
export async function* piecesOf(path: string): AsyncGenerator<Buffer> {
  const file = createReadStream(path, { highWaterMark: PIECE });
  const content = /\.gz$/i.test(path) ? file.pipe(createGunzip({ chunkSize: PIECE })) : file;
  file.once('error', (error) => content.destroy(error));
  try {
    yield* content;
  } finally {
    file.destroy();
  }
}
