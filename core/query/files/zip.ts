import { constants, crc32, deflateRawSync } from 'node:zlib';
import { AppError } from '#core/errors.ts';

/** Writes a ZIP archive (APPNOTE 6.3) front to back: the sizes of an entry follow its data. */
export interface ZipWriter {
  /** A small entry as a whole. */
  whole(path: string, text: string): Uint8Array;
  /** Begins an entry, whose text `add` compresses. */
  open(path: string): Uint8Array;
  add(text: string): Uint8Array;
  /** Ends the open entry and the archive. */
  end(): Uint8Array;
}

interface Entry {
  readonly path: Buffer;
  readonly offset: number;
  crc: number;
  size: number;
  packed: number;
}

/** Larger sizes would need ZIP64. */
const MOST_BYTES = 0xffff_ffff;
const VERSION = 20;
/** Sizes follow the data; paths are UTF-8. */
const FLAGS = 0x0808;
const DEFLATE = 8;
/** 1980-01-01, the earliest date that the format has. */
const DATE = 0x21;
/** The last block of compressed data, which is empty. */
const LAST_BLOCK = Buffer.from([3, 0]);

export function openZip(): ZipWriter {
  const entries: Entry[] = [];
  let written = 0;
  let current: Entry | null = null;

  const out = (bytes: Buffer): Buffer => {
    written += bytes.length;
    if (written > MOST_BYTES) throw tooLarge();
    return bytes;
  };
  const open = (path: string): Buffer => {
    const entry = { path: Buffer.from(path), offset: written, crc: 0, size: 0, packed: 0 };
    entries.push(entry);
    current = entry;
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    writeCommon(head, 4, entry);
    return out(Buffer.concat([head, entry.path]));
  };
  const add = (text: string): Buffer => {
    const bytes = Buffer.from(text);
    if (current === null || bytes.length === 0) return Buffer.alloc(0);
    // Each piece ends at a byte, so that pieces can follow one another.
    const packed = deflateRawSync(bytes, { level: 1, finishFlush: constants.Z_SYNC_FLUSH });
    current.crc = crc32(bytes, current.crc);
    current.size += bytes.length;
    current.packed += packed.length;
    if (current.size > MOST_BYTES) throw tooLarge();
    return out(packed);
  };
  const close = (): Buffer => {
    if (current === null) return Buffer.alloc(0);
    current.packed += LAST_BLOCK.length;
    const tail = Buffer.alloc(16);
    tail.writeUInt32LE(0x08074b50, 0);
    tail.writeUInt32LE(current.crc, 4);
    tail.writeUInt32LE(current.packed, 8);
    tail.writeUInt32LE(current.size, 12);
    current = null;
    return out(Buffer.concat([LAST_BLOCK, tail]));
  };
  const directory = (): Buffer => {
    const start = written;
    const records = entries.map((entry) => {
      const record = Buffer.alloc(46);
      record.writeUInt32LE(0x02014b50, 0);
      record.writeUInt16LE(VERSION, 4);
      writeCommon(record, 6, entry);
      record.writeUInt32LE(entry.crc, 16);
      record.writeUInt32LE(entry.packed, 20);
      record.writeUInt32LE(entry.size, 24);
      record.writeUInt32LE(entry.offset, 42);
      return Buffer.concat([record, entry.path]);
    });
    const all = out(Buffer.concat(records));
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50, 0);
    end.writeUInt16LE(entries.length, 8);
    end.writeUInt16LE(entries.length, 10);
    end.writeUInt32LE(all.length, 12);
    end.writeUInt32LE(start, 16);
    return Buffer.concat([all, end]);
  };
  return {
    whole: (path, text) => Buffer.concat([open(path), add(text), close()]),
    open,
    add,
    end: () => Buffer.concat([close(), directory()]),
  };
}

/** The fields that local headers and the directory share, up to the length of the path. */
function writeCommon(bytes: Buffer, at: number, { path }: Entry): void {
  bytes.writeUInt16LE(VERSION, at);
  bytes.writeUInt16LE(FLAGS, at + 2);
  bytes.writeUInt16LE(DEFLATE, at + 4);
  bytes.writeUInt16LE(DATE, at + 8);
  bytes.writeUInt16LE(path.length, at + 22);
}

const tooLarge = (): AppError =>
  new AppError('too_large', 'The result is larger than the 4 GiB that a spreadsheet file holds. Use CSV or JSON Lines.');
