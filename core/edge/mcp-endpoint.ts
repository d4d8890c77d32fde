import { isToolsetName } from '#core/contract/definitions/toolsets.ts';

/** Which part of what is deployed an address serves (contract section 16). */
export interface Endpoint {
  /** What stands after `/mcp`: empty, or beginning with a slash. One spelling for each endpoint. */
  readonly path: string;
  /** Name of the toolset that it serves; null: no single one. */
  readonly toolset: string | null;
  /** The tag of everything that it serves; null: whatever the tag. */
  readonly tag: string | null;
  /** It serves only what changes no data. */
  readonly read_only: boolean;
  /** The candidate that it serves in the place of the live version; null: none. */
  readonly candidate: string | null;
}

/** Where the transport of 2024-11-05 serves the same as `/mcp`. */
export const SSE_PATH = '/sse';

/** `/mcp`: everything that the caller may see. */
export const WHOLE: Endpoint = { path: '', toolset: null, tag: null, read_only: false, candidate: null };
const READ_ONLY: Endpoint = { ...WHOLE, path: '/readonly', read_only: true };

const TAG = '/tag/';
/** As long as a tag may be. */
const TAG_LENGTH = 64;

/** The endpoint of what stands after `/mcp` in a path, whether or not anything is deployed for it; null: it can be none. */
export function endpointOf(rest: string): Endpoint | null {
  const path = rest.endsWith('/') ? rest.slice(0, -1) : rest;
  if (path === '') return WHOLE;
  if (path === READ_ONLY.path) return READ_ONLY;
  if (path.startsWith(TAG)) return tagged(path.slice(TAG.length));
  const name = path.slice(1);
  return path.startsWith('/') && isToolsetName(name) ? { ...WHOLE, path, toolset: name } : null;
}

/** The same of an audience, as `Addresses.restOf` reads it; null: it names no endpoint of ours. */
export const audiencePath = (rest: string | null): string | null => (rest === null ? null : (endpointOf(rest)?.path ?? null));

const CANDIDATE = '/candidate/';

/** The endpoint of a candidate; null: the path names none. Credentials of other endpoints are never for it, nor its token for them. */
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
