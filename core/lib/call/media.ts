export type MediaKind = 'image' | 'audio';

/** First bytes of the types that clients show, in hex; a dot stands for any half byte. */
const MAGIC: readonly (readonly [string, string])[] = [
  ['89504e470d0a1a0a', 'image/png'],
  ['ffd8ff', 'image/jpeg'],
  ['474946383', 'image/gif'],
  ['52494646........57454250', 'image/webp'],
  ['........66747970617669', 'image/avif'],
  ['........6674797068656963', 'image/heic'],
  ['424d', 'image/bmp'],
  ['3c737667', 'image/svg+xml'],
  ['52494646........57415645', 'audio/wav'],
  ['494433', 'audio/mpeg'],
  ['fffb', 'audio/mpeg'],
  ['fff3', 'audio/mpeg'],
  ['fff2', 'audio/mpeg'],
  ['fff1', 'audio/aac'],
  ['fff9', 'audio/aac'],
  ['4f676753', 'audio/ogg'],
  ['664c6143', 'audio/flac'],
  ['........667479704d3441', 'audio/mp4'],
];
const SIGNATURES = MAGIC.map(([hex, mime_type]) => ({ pattern: new RegExp(`^${hex}`), mime_type }));

/** The type that the first bytes of a base64 text name, or null. */
export function mimeTypeOf(base64: string): string | null {
  const head = Buffer.from(base64.slice(0, 64), 'base64').toString('hex');
  return SIGNATURES.find(({ pattern }) => pattern.test(head))?.mime_type ?? null;
}
