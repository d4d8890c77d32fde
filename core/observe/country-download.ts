import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { AppError } from '#core/errors.ts';

/** Sends a request without following redirects, if the address policy allows it. */
export type Ask = (url: string, signal: AbortSignal) => Promise<Response>;

/** Download address of GeoLite2, which requires a licence key. */
export const MAXMIND_URL = 'https://download.maxmind.com/app/geoip_download';
const EDITION = 'GeoLite2-Country';
/** MaxMind redirects to its storage. Only the first address contains the key. */
const STORES = ['.maxmind.com', '.r2.cloudflarestorage.com'];
const MOST_BYTES = 64 * 1024 * 1024;
const BLOCK = 512;

/** Downloads the country database of MaxMind. Throws a sentence that says what to check and never contains the key. */
export async function downloadCountries(license_key: string, ask: Ask, signal: AbortSignal, url = MAXMIND_URL): Promise<Buffer> {
  const query = new URLSearchParams({ edition_id: EDITION, license_key, suffix: 'tar.gz' });
  const first = await reach(ask, `${url}?${query}`, signal);
  const response = first.status >= 300 && first.status < 400 ? await reach(ask, nextAddress(first, url), signal) : first;
  if (response.status === 401 || response.status === 403) {
    throw new AppError('unavailable', 'MaxMind rejected the licence key. Check SVC_MAXMIND_LICENSE_KEY.');
  }
  if (response.status === 429) throw new AppError('unavailable', 'The daily download limit of this MaxMind key is used up.');
  if (!response.ok) throw new AppError('unavailable', `MaxMind answered with status ${response.status}.`);
  const file = entryOf(await unpacked(await bytesOf(response)));
  if (file === null) throw new AppError('unavailable', 'The download from MaxMind contains no country database.');
  return file;
}

const unreachable = (cause: unknown) =>
  new AppError('unavailable', 'download.maxmind.com cannot be reached. Check the network, or name a file in SVC_GEOIP_SOURCE.', {
    cause,
  });

async function reach(ask: Ask, url: string, signal: AbortSignal): Promise<Response> {
  return ask(url, signal).catch((cause: unknown) => {
    throw cause instanceof AppError && cause.code === 'private_network_blocked' ? cause : unreachable(cause);
  });
}

function nextAddress(response: Response, from: string): string {
  const location = response.headers.get('location') ?? '';
  const next = URL.canParse(location, from) ? new URL(location, from) : null;
  const known =
    next !== null &&
    (next.origin === new URL(from).origin ||
      (next.protocol === 'https:' && STORES.some((store) => next.hostname.endsWith(store))));
  if (!known) throw new AppError('unavailable', 'MaxMind redirected to an address that is not known to be its own.');
  return next.href;
}

async function bytesOf(response: Response): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of response.body ?? []) {
      size += part.byteLength;
      if (size > MOST_BYTES) throw new AppError('too_large', 'The download from MaxMind is larger than a country database.');
      parts.push(part);
    }
  } catch (error) {
    throw error instanceof AppError ? error : unreachable(error);
  }
  return Buffer.concat(parts);
}

async function unpacked(packed: Buffer): Promise<Buffer> {
  return promisify(gunzip)(packed, { maxOutputLength: MOST_BYTES }).catch((cause: unknown) => {
    throw new AppError('unavailable', 'The download from MaxMind cannot be unpacked.', { cause });
  });
}

/** The database in a tar archive: headers and contents in blocks of 512 bytes (POSIX ustar). */
function entryOf(archive: Buffer): Buffer | null {
  const text = (from: number, to: number) => archive.toString('latin1', from, to).replace(/\0.*$/s, '').trim();
  for (let at = 0; at + BLOCK <= archive.length;) {
    const name = text(at, at + 100);
    const size = Number.parseInt(text(at + 124, at + 136) || '0', 8);
    if (name === '' || !Number.isInteger(size)) return null;
    if (name.endsWith('.mmdb')) return archive.subarray(at + BLOCK, at + BLOCK + size);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return null;
}
