export type MediaKind = 'image' | 'audio';

/** First bytes of each media type, in hex; a dot matches any half byte. */
const MAGIC: readonly (readonly [string, string])[] = [
  ['89504e470d0a1a0a', 'image/png'],
  ['ffd8ff', 'image/jpeg'],
  ['474946383', 'image/gif'],
  ['52494646........57454250', 'image/webp'],
  ['........667479706176(?:6966|6973)', 'image/avif'],
  ['........66747970(?:68656963|68656978|68657663|6d696631|6d736631)', 'image/heic'],
  ['424d........00000000', 'image/bmp'],
  ['(?:49492a00|4d4d002a)', 'image/tiff'],
  ['00000100..00', 'image/x-icon'],
  ['52494646........57415645', 'audio/wav'],
  ['494433', 'audio/mpeg'],
  ['fff[abe23]', 'audio/mpeg'],
  ['fff[19]', 'audio/aac'],
  ['4f676753', 'audio/ogg'],
  ['664c6143', 'audio/flac'],
  ['........667479704d3441', 'audio/mp4'],
];
const SIGNATURES = MAGIC.map(([hex, mime_type]) => ({ pattern: new RegExp(`^${hex}`), mime_type }));

/** An SVG document can start with a byte order mark, declarations and comments. */
const SVG = /^\uFEFF?\s*(?:<(?:\?xml|!DOCTYPE|!--)[^>]*>\s*)*<svg[\s>]/i;
export const SVG_TYPE = 'image/svg+xml';

/** Base64 characters to inspect. */
const HEAD = 2_048;

/** Detects the media type by the first bytes, or returns null. */
export function mimeTypeOf(base64: string): string | null {
  const head = Buffer.from(base64.slice(0, HEAD), 'base64');
  const hex = head.toString('hex', 0, 32);
  const found = SIGNATURES.find(({ pattern }) => pattern.test(hex))?.mime_type;
  return found ?? (SVG.test(head.toString('utf8')) ? SVG_TYPE : null);
}

/** Image types that models accept. Any other type in a result ends the conversation in several clients. */
export const SHOWN_IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
