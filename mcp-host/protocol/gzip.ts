import { constants, crc32, deflateRaw } from 'node:zlib';

/** A text that is compressed once, and used as the middle of gzip answers (RFC 1952). */
export interface Packed {
  /** @returns null until the text is compressed. The first call starts the compression in the background. */
  wrap(before: string, after: string): Blob | null;
}

const MAGIC = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** Longest uncompressed block (RFC 1951, section 3.2.4). */
const STORED = 65_535;

/**
 * The parts around the text are separate, uncompressed blocks: data from a request is never compressed together with the data
 * that it requests, and an answer costs only a checksum.
 */
export function createPacked(text: Buffer<ArrayBuffer>): Packed {
  let deflated: Buffer | null = null;
  let begun = false;
  return {
    wrap(before, after) {
      if (!begun) {
        begun = true;
        // Z_SYNC_FLUSH ends on a byte boundary and does not mark the last block.
        deflateRaw(text, { finishFlush: constants.Z_SYNC_FLUSH }, (error, bytes) => {
          if (error === null) deflated = bytes;
        });
      }
      const [head, tail] = [Buffer.from(before), Buffer.from(after)];
      if (deflated === null || head.length > STORED || tail.length > STORED) return null;
      const end = Buffer.alloc(8);
      end.writeUInt32LE(crc32(tail, crc32(text, crc32(head))), 0);
      end.writeUInt32LE((head.length + text.length + tail.length) % 2 ** 32, 4);
      return new Blob([Buffer.concat([MAGIC, stored(head, false), deflated, stored(tail, true), end])]);
    },
  };
}

function stored(bytes: Buffer, last: boolean): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(last ? 1 : 0, 0);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(STORED - bytes.length, 3);
  return Buffer.concat([head, bytes]);
}

/** Whether an Accept-Encoding (RFC 9110, section 12.5.3) names gzip and does not refuse it. */
export const acceptsGzip = (header: string | null): boolean =>
  header !== null && /(?:^|,)\s*(?:x-)?gzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(header);
