import { type CompactJWSHeaderParameters, compactVerify, decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose';
import type { TOKEN_CHECKS } from '#core/contract/settings/token-check.ts';

export type TokenCheck = keyof typeof TOKEN_CHECKS;

/** The rules that a token must satisfy. */
export interface TokenRules {
  /** Compared exactly with `iss`. */
  readonly issuer: string;
  /** Asymmetric only, so that a program that verifies tokens cannot sign them. */
  readonly algorithms: readonly string[];
  /** Accepted values of `typ`, in lower case and without `application/`; an empty string accepts a header without `typ`. */
  readonly types: readonly string[];
  /** Returns the issuer's key for this header, or null. */
  readonly keyOf: (header: CompactJWSHeaderParameters) => Promise<CryptoKey | null> | CryptoKey | null;
  readonly isAudience: (audience: string) => boolean;
  /** Claims that are required besides `sub`, as a string or as an element of a list. */
  readonly required?: Readonly<Record<string, string>>;
}

export type CheckedToken =
  | { readonly payload: JWTPayload; readonly header: CompactJWSHeaderParameters }
  | { readonly failed: TokenCheck; readonly reason: string };

/** Maximum characters of a token. */
const LONGEST = 16 * 1024;
/** Tolerated clock difference between the issuer and this machine, in seconds. */
const SKEW_SECONDS = 60;
const FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const JWT_TYPE = /^application\//;
/** Claims that occur only in ID tokens (OpenID Connect Core, sections 2 and 3.3.2.11). */
const OF_ID_TOKENS = ['nonce', 'at_hash', 'c_hash', 's_hash'];

/** @param now in milliseconds since 1970. */
export async function checkToken(token: string, rules: TokenRules, now: number): Promise<CheckedToken> {
  if (token.length > LONGEST) return failed('form', `The token is longer than ${LONGEST} characters.`);
  const read = readToken(token);
  if (read === null) return failed('form', 'The token is not a signed JWT.');
  const { header, claims } = read;
  if (!rules.algorithms.includes(header.alg)) return failed('algorithm', `The algorithm ${shown(header.alg)} is not accepted.`);
  const type = (header.typ ?? '').toLowerCase().replace(JWT_TYPE, '');
  if (!rules.types.includes(type)) return failed('type', `The type ${shown(header.typ)} is not that of an access token.`);
  if (claims.iss !== rules.issuer) return failed('issuer', `The issuer is ${shown(claims.iss)}, not ${rules.issuer}.`);
  const key = await rules.keyOf(header);
  if (key === null) return failed('key', `The issuer has no key ${shown(header.kid)} for ${header.alg}.`);
  const payload = await verified(token, key, rules.algorithms);
  if (payload === null) return failed('signature', 'The signature does not match the token.');
  return checkClaims(payload, rules, now) ?? { payload, header };
}

function checkClaims(payload: JWTPayload, rules: TokenRules, now: number): CheckedToken | null {
  const { aud = [], exp, nbf, iat, sub } = payload;
  const audiences = Array.isArray(aud) ? aud : [aud];
  if (!audiences.some((name) => typeof name === 'string' && rules.isAudience(name))) {
    return failed(
      'audience',
      `The token is for ${audiences.length === 0 ? 'nobody in particular' : audiences.map(shown).join(', ')}.`,
    );
  }
  const seconds = now / 1_000;
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return failed('expiry', 'The token has no time of expiry.');
  if (exp <= seconds) return failed('expiry', `The token expired at ${timeOf(exp)}.`);
  for (const [name, time] of [
    ['nbf', nbf],
    ['iat', iat],
  ] as const) {
    if (time === undefined) continue;
    if (typeof time !== 'number' || !(time <= seconds + SKEW_SECONDS))
      return failed('times', `${name} lies in the future. Check the clocks of both machines.`);
  }
  if (OF_ID_TOKENS.some((name) => payload[name] !== undefined) || isOtherKind(payload)) {
    return failed('kind', 'This is an ID token or another kind of token. Send the access token.');
  }
  if (payload['cnf'] !== undefined)
    return failed('kind', 'The token is bound to a key of its client, which Sluice cannot check.');
  if (typeof sub !== 'string' || sub === '') return failed('claims', 'The token has no subject.');
  const wrong = wrongClaim(payload, rules);
  return wrong === undefined ? null : failed('claims', `The claim ${wrong} is not what is required.`);
}

/** The first required claim that is missing or different. */
export const wrongClaim = (payload: JWTPayload, { required = {} }: Pick<TokenRules, 'required'>): string | undefined =>
  Object.entries(required).find(([name, expected]) => !includesText(claimAt(payload, name), expected))?.[0];

/** `typ` is used by Keycloak, `token_use` by Cognito. */
function isOtherKind({ typ, token_use }: JWTPayload): boolean {
  if (typeof token_use === 'string' && token_use !== 'access') return true;
  return typeof typ === 'string' && /^(id|refresh|offline|logout)$/i.test(typ);
}

/** Looks up a claim by its full name, which can be a URL, or by a path such as `realm_access.roles`. */
export function claimAt(payload: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(payload, path)) return payload[path];
  let value: unknown = payload;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** The strings of a list, or of a space-separated string (RFC 6749 section 3.3). */
export function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((text) => text !== '');
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

const includesText = (value: unknown, expected: string): boolean =>
  value === expected || (typeof value === 'boolean' && String(value) === expected) || textsOf(value).includes(expected);

/** Decodes a token without verifying it, so types are checked here and no value can be trusted yet. */
function readToken(token: string): { header: CompactJWSHeaderParameters; claims: JWTPayload } | null {
  if (!FORM.test(token)) return null;
  try {
    const header: Readonly<Record<string, unknown>> = decodeProtectedHeader(token);
    const { alg, typ, kid } = header;
    if (typeof alg !== 'string' || !isTextOrAbsent(typ) || !isTextOrAbsent(kid)) return null;
    return { header: { alg, ...(typ !== undefined && { typ }), ...(kid !== undefined && { kid }) }, claims: decodeJwt(token) };
  } catch {
    return null;
  }
}

const isTextOrAbsent = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string';

async function verified(token: string, key: CryptoKey, algorithms: readonly string[]): Promise<JWTPayload | null> {
  try {
    await compactVerify(token, key, { algorithms: [...algorithms] });
    return decodeJwt(token);
  } catch {
    // A key that does not fit the algorithm counts as a wrong signature.
    return null;
  }
}

const failed = (check: TokenCheck, reason: string): CheckedToken => ({ failed: check, reason });

/** Quotes a value from outside: shortened, and without control characters. */
const shown = (value: unknown): string => {
  if (value === undefined) return '(none)';
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return `“${text.slice(0, 100).replaceAll(/[^\x20-\x7e]/g, '?')}”`;
};

const timeOf = (seconds: number): string =>
  Math.abs(seconds) < 8.64e12 ? new Date(seconds * 1_000).toISOString() : String(seconds);
