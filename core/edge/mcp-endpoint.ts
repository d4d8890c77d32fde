import { isToolsetName } from '#core/contract/definitions/toolsets.ts';

/** One of the addresses under `/mcp` and the part of the deployed configuration that it serves. */
export interface Endpoint {
  /** The path after `/mcp`: empty, or starting with a slash. Each endpoint has exactly one spelling. */
  readonly path: string;
  /** Name of the toolset that it serves; null: not limited to one. */
  readonly toolset: string | null;
  /** The tag that its definitions must have; null: any. */
  readonly tag: string | null;
  /** Serves only definitions that change no data. */
  readonly read_only: boolean;
  /** The candidate that it serves instead of the live version; null: none. */
  readonly candidate: string | null;
}

/** Path of the HTTP+SSE transport of 2024-11-05, with the same content as `/mcp`. */
export const SSE_PATH = '/sse';

/** The path of downloads of whole results, on the same hosts; a sealed call follows. */
export const FILE_PATH = '/f/';

/** The hashes of the served definitions; the path of an endpoint may follow. */
export const DEFINITIONS_PATH = '/.well-known/mcp-definitions';

/** The public keys that verify signatures of definitions (RFC 7517). */
export const DEFINITION_KEYS_PATH = '/.well-known/mcp-definitions-keys';

/** `/mcp`: everything that the caller can see. */
export const WHOLE: Endpoint = { path: '', toolset: null, tag: null, read_only: false, candidate: null };
const READ_ONLY: Endpoint = { ...WHOLE, path: '/readonly', read_only: true };

const TAG = '/tag/';
/** Maximum length of a tag. */
const TAG_LENGTH = 64;

/** The endpoint at a path after `/mcp`, deployed or not; null if the path is not valid. */
export function endpointOf(rest: string): Endpoint | null {
  const path = rest.endsWith('/') ? rest.slice(0, -1) : rest;
  if (path === '') return WHOLE;
  if (path === READ_ONLY.path) return READ_ONLY;
  if (path.startsWith(TAG)) return tagged(path.slice(TAG.length));
  const name = path.slice(1);
  return path.startsWith('/') && isToolsetName(name) ? { ...WHOLE, path, toolset: name } : null;
}

/** The endpoint path of an audience, from `Addresses.restOf`; null if it is not an endpoint of this installation. */
export const audiencePath = (rest: string | null): string | null => (rest === null ? null : (endpointOf(rest)?.path ?? null));

const CANDIDATE = '/candidate/';

/** The endpoint of a candidate; null for any other path. Its tokens are not valid at other endpoints, nor theirs here. */
export function candidateAt(rest: string): Endpoint | null {
  const id = rest.startsWith(CANDIDATE) ? rest.slice(CANDIDATE.length) : '';
  return /^[\w-]{1,64}$/.test(id) ? { ...WHOLE, path: `${CANDIDATE}${id}`, candidate: id } : null;
}

function tagged(written: string): Endpoint | null {
  const tag = decoded(written);
  if (tag === null || tag === '' || tag.length > TAG_LENGTH || written.includes('/')) return null;
  return { ...WHOLE, path: `${TAG}${encodeURIComponent(tag)}`, tag };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
