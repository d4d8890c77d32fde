import { readFile } from 'node:fs/promises';
import { createLocalJWKSet, errors, flattenedVerify, type JSONWebKeySet } from 'jose';
import * as v from 'valibot';
import { DEFINITION_KEYS_PATH } from '#core/edge/mcp-endpoint.ts';
import { AppError } from '#core/errors.ts';
import { byName, definitionLeaf, SIGNATURE_ALGORITHM, SIGNATURE_TYPE, signedBytes } from '#snapshots/format/definition-list.ts';
import { rootOf } from '#snapshots/format/merkle.ts';
import { send } from '../remote.ts';

const hex = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));

/** What a host says of its signature. */
export const Signature = v.object({
  list: v.string(),
  root: hex,
  size: v.pipe(v.number(), v.integer(), v.minValue(0)),
  issued_at: v.string(),
  expires_at: v.string(),
  kid: v.string(),
  signature: v.pipe(v.string(), v.regex(/^[\w-]+\.\.[\w-]+$/)),
  /** Hashes of the definitions that the caller cannot see. Absent: the caller sees all. */
  proof: v.optional(v.object({ at: v.array(v.number()), hidden: v.array(hex) })),
  listings: v.record(v.string(), hex),
});
export type Signature = v.InferOutput<typeof Signature>;

/** The part of a host's answer that its signature covers. */
export interface SignedAnswer {
  readonly snapshot_version: number;
  readonly checksum: string;
  readonly definitions: Readonly<Record<string, string>>;
}

const Jwk = v.looseObject({ kty: v.string(), kid: v.optional(v.string()) });
const Keys = v.union([v.object({ keys: v.pipe(v.array(Jwk), v.minLength(1)) }), Jwk]);

export interface TrustedKeys {
  readonly jwks: JSONWebKeySet;
  /** Where they come from: a file, or the host. */
  readonly from: string;
}

/** The keys of a file, such as a copy of the host's; without one, those that the host publishes. */
export async function trustedKeys(file: unknown, origin: string): Promise<TrustedKeys> {
  if (typeof file === 'string') {
    const text = await readFile(file, 'utf8').catch((cause: unknown) => {
      throw new AppError('not_found', `The file ${file} cannot be read.`, { cause });
    });
    const jwks = keysIn(text);
    if (jwks === null) {
      throw new AppError('invalid', `${file} has no keys. Store there what ${origin}${DEFINITION_KEYS_PATH} answers.`);
    }
    return { jwks, from: file };
  }
  const from = `${origin}${DEFINITION_KEYS_PATH}`;
  const answer = await send(from, {});
  const jwks = answer.ok ? keysIn(await answer.text()) : null;
  if (jwks === null) throw new AppError('unavailable', `${from} has no keys, so the signature cannot be checked.`);
  return { jwks, from };
}

function keysIn(text: string): JSONWebKeySet | null {
  try {
    const read = v.parse(Keys, JSON.parse(text));
    return (Array.isArray(read['keys']) ? read : { keys: [read] }) as JSONWebKeySet;
  } catch {
    return null;
  }
}

/**
 * Says what is wrong with a signature, or with the definitions that it covers. Null: nothing.
 * @param list the list that the address stands for. @param now in ms.
 */
export async function signatureFault(
  { snapshot_version, checksum, definitions }: SignedAnswer,
  signature: Signature,
  { jwks, from }: TrustedKeys,
  list: string,
  now: number,
): Promise<string | null> {
  const manifest = { ...signature, snapshot_version, checksum };
  const [header = '', mark = ''] = signature.signature.split('..');
  const payload = Buffer.from(signedBytes(manifest)).toString('base64url');
  try {
    const { protectedHeader } = await flattenedVerify({ protected: header, payload, signature: mark }, createLocalJWKSet(jwks), {
      algorithms: [SIGNATURE_ALGORITHM],
    });
    if (protectedHeader?.typ !== SIGNATURE_TYPE || protectedHeader.kid !== signature.kid)
      return 'The signature is not one over definitions.';
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey)
      return `The definitions are signed with the key ${signature.kid}, which ${from} does not have.`;
    return 'The signature does not fit: somebody changed the answer, or signed it with another key.';
  }
  if (signature.list !== list) return `The signature is for ${listName(signature.list)}, not for ${listName(list)}.`;
  if (!(Date.parse(signature.expires_at) > now)) {
    return `The signature expired at ${signature.expires_at}: the answer is old, or the host has not reached its server since ${signature.issued_at}.`;
  }
  return isRootOf(definitions, signature)
    ? null
    : 'The definitions are not those that were signed: one was changed, added or removed.';
}

const listName = (list: string): string => (list === '' ? 'everything that is served' : list);

/** Whether the signed root follows from the definitions, and from the hashes of those that the caller cannot see. */
function isRootOf(definitions: SignedAnswer['definitions'], { root, size, proof, listings }: Signature): boolean {
  const names = Object.keys(definitions);
  if (names.length !== Object.keys(listings).length || names.some((name) => listings[name] === undefined)) return false;
  const leaves = names
    .map((name) => ({ name, hash: definitions[name] ?? '', listing: listings[name] ?? '' }))
    .toSorted(byName)
    .map(definitionLeaf);
  const at = proof?.at ?? leaves.map((_, index) => index);
  const hidden = proof?.hidden.map((hash) => Buffer.from(hash, 'hex')) ?? [];
  return rootOf(size, at, leaves, hidden)?.toString('hex') === root;
}
