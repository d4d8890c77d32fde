/** PKWARE APPNOTE 4.3.7, 4.3.12 and 4.3.16. */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const VERSION = 20;
/** Names are UTF-8. */
const UTF8 = 0x0800;
/** 1 January 1980: the same files make the same archive. */
const DATE = 0x21;

/** Files as a ZIP archive, not compressed. */
export function zip(files: readonly { readonly path: string; readonly content: string }[]): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for (const { path, content } of files) {
    const name = encoder.encode(path);
    const data = encoder.encode(content);
    const shared = [
      [2, VERSION],
      [2, UTF8],
      [2, 0],
      [2, 0],
      [2, DATE],
      [4, crc32(data)],
      [4, data.length],
      [4, data.length],
      [2, name.length],
      [2, 0],
    ] as const;
    directory.push(
      bytes([[4, CENTRAL], [2, VERSION], ...shared, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]]),
      new Uint8Array(name),
    );
    const head = bytes([[4, LOCAL], ...shared]);
    parts.push(head, new Uint8Array(name), new Uint8Array(data));
    offset += head.length + name.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = bytes([
    [4, END],
    [2, 0],
    [2, 0],
    [2, files.length],
    [2, files.length],
    [4, size],
    [4, offset],
    [2, 0],
  ]);
  return joined([...parts, ...directory, end]);
}

/** Little-endian numbers, each with its size in bytes. */
function bytes(fields: readonly (readonly [size: number, value: number])[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(fields.reduce((sum, [size]) => sum + size, 0));
  let at = 0;
  for (const [size, value] of fields) {
    for (let shift = 0; shift < size; shift += 1) out[at + shift] = (value >>> (8 * shift)) & 0xff;
    at += size;
  }
  return out;
}

function joined(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc32(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = (TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
