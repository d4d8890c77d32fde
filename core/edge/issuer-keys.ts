import type { JWK } from 'jose';
import { withoutEndSlashes } from './requested-address.ts';

/** An issuer of tokens with the URL of its keys, if known. */
interface Issuer {
  readonly issuer: string;
  readonly jwks_url: string | null;
}

/** Fetches a document without following redirects. The text is ignored unless the status is 200. */
export type GetDocument = (url: string) => Promise<{ readonly status: number; readonly text: string }>;

/** Maximum characters of a fetched document. */
export const DOCUMENT_LIMIT = 256 * 1024;
const MOST_KEYS = 100;

/**
 * Fetches the public keys of an issuer from `jwks_url`, or else from the `jwks_uri` in its metadata (RFC 8414 section 3, OpenID
 * Connect Discovery). Rejects with a sentence for the user.
 */
export async function readJwks({ issuer, jwks_url }: Issuer, get: GetDocument): Promise<JWK[]> {
  const url = jwks_url ?? (await discoverJwks(issuer, get));
  const { keys } = await readDocument(url, get);
  if (!Array.isArray(keys)) throw new Error('The key set has no list of keys.');
  if (keys.length > MOST_KEYS) throw new Error(`The key set has more than ${MOST_KEYS} keys.`);
  const found = keys.filter(isPublicKey);
  if (found.length === 0) throw new Error('The key set has no public key to verify with.');
  return found;
}

async function discoverJwks(issuer: string, get: GetDocument): Promise<string> {
  const faults: string[] = [];
  for (const url of metadataUrls(issuer)) {
    try {
      const document = await readDocument(url, get);
      // RFC 8414 section 3.3: a different issuer means the wrong document.
      if (document['issuer'] !== issuer) throw new Error('names another issuer');
      const jwks_uri = document['jwks_uri'];
      if (typeof jwks_uri !== 'string' || !URL.canParse(jwks_uri)) throw new Error('has no jwks_uri');
      if (new URL(issuer).protocol === 'https:' && new URL(jwks_uri).protocol !== 'https:')
        throw new Error('has a jwks_uri without https');
      return jwks_uri;
    } catch (error) {
      faults.push(`${url}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(`The issuer's metadata could not be read. ${faults.join('; ')}`);
}

function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = withoutEndSlashes(pathname);
  return [`${origin}${path}/.well-known/openid-configuration`, `${origin}/.well-known/oauth-authorization-server${path}`];
}

async function readDocument(url: string, get: GetDocument): Promise<Record<string, unknown>> {
  const { status, text } = await get(url);
  if (status !== 200) throw new Error(`answered ${status}`);
  const document = JSON.parse(text) as unknown;
  if (typeof document !== 'object' || document === null || Array.isArray(document)) throw new Error('is not a JSON object');
  return document as Record<string, unknown>;
}

/** Symmetric keys and encryption keys are ignored. */
const isPublicKey = (key: unknown): key is JWK => {
  if (typeof key !== 'object' || key === null) return false;
  const { kty, use } = key as JWK;
  return (kty === 'RSA' || kty === 'EC' || kty === 'OKP') && (use === undefined || use === 'sig');
};

/** The key that a header names by `kid`. Null if there is none, or if several match a header without `kid`. */
export function chooseKey(keys: readonly JWK[], kid: string | undefined, alg: string): JWK | null {
  const fitting = keys.filter((key) => fits(key, kid, alg));
  const [first] = fitting;
  return first === undefined || (kid === undefined && fitting.length > 1) ? null : first;
}

/** RFC 7517: the `alg` of a key, if present, must match. */
function fits(key: JWK, kid: string | undefined, alg: string): boolean {
  if (kid !== undefined && key.kid !== kid) return false;
  return (key.alg === undefined || key.alg === alg) && key.kty === KEY_TYPES[alg.slice(0, 2)];
}

const KEY_TYPES: Readonly<Record<string, string>> = { RS: 'RSA', PS: 'RSA', ES: 'EC', Ed: 'OKP' };
