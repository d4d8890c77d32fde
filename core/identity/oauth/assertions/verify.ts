import type { Platform } from '#core/platform/platform.ts';
import { and, eq } from 'drizzle-orm';
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { ASYMMETRIC_ALGORITHMS } from '#core/contract/settings/jwt-issuers.ts';
import { AppError } from '#core/errors.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { ProviderRow } from '#core/identity/providers/stored.ts';
import { isPlainText } from '#core/process/issues.ts';
import { issuerOf } from '#core/settings/public-urls.ts';

/** The type of identity assertions (draft-ietf-oauth-identity-assertion-authz-grant section 3.1). */
const TYPE = 'oauth-id-jag+jwt';
const REQUIRED = ['iss', 'sub', 'aud', 'client_id', 'jti', 'exp', 'iat'] as const;
/** Claims that limit an assertion in a way that an access token cannot express. Without them it would allow more. */
const LIMITS = ['cnf', 'tenant', 'authorization_details'];

const LONGEST_TEXT = 255;
const TOLERANCE_S = 30;
/** An assertion works this long after its issue, even if it expires later. */
const OLDEST_S = 600;

/** A verified assertion. */
export interface Assertion {
  readonly provider: ProviderRow;
  readonly claims: JWTPayload & { readonly sub: string };
  readonly jti: string;
  /** Time in ms after which it is refused anyway. */
  readonly until: number;
}

const refused = (detail: string) => new AppError('forbidden', detail);

/** The providers whose assertions may be accepted from this client. Throws `forbidden` with the reason when there is none. */
export async function trustedProvider(app: Platform, assertion: string, client_id: string): Promise<ProviderRow> {
  const { identity_providers: table } = app.store.tables;
  const rows = await app.store.db
    .select()
    .from(table)
    .where(eq(table.issuer, issuerIn(assertion)));
  if (rows.length === 0) throw refused('The issuer of the assertion is not an identity provider of this server.');
  const enabled = rows.filter((row) => row.enabled);
  if (enabled.length === 0) throw refused('The identity provider of the assertion is disabled.');
  const accepted = enabled.filter((row) => row.accept_assertions);
  if (accepted.length === 0) throw refused('Assertions of this identity provider are not accepted. Sign in through the browser.');
  const listing = accepted.find((row) => row.assertion_clients.includes(client_id));
  if (listing === undefined) throw refused('Assertions of this identity provider are not accepted from this client.');
  return listing;
}

/** Whether clients can get access with assertions now. */
export async function acceptsAssertions({ store: { db, tables } }: Platform): Promise<boolean> {
  const { identity_providers: table } = tables;
  return (await db.$count(table, and(eq(table.enabled, true), eq(table.accept_assertions, true)))) > 0;
}

/** The issuer that an assertion claims to have. It only chooses the provider, whose keys then decide. */
function issuerIn(assertion: string): string {
  try {
    const { iss } = decodeJwt(assertion);
    if (typeof iss === 'string') return iss;
  } catch {
    throw refused('The assertion is not a signed JWT.');
  }
  throw refused('The assertion has no issuer.');
}

/**
 * Verifies an assertion of this provider for this client: RFC 7523 section 3, and section 4.4.1 of the draft. Throws `forbidden` with
 * a sentence, or the error of reading the provider's keys.
 */
export async function verifyAssertion(
  app: Platform & WithProviders,
  provider: ProviderRow,
  assertion: string,
  client_id: string,
): Promise<Assertion> {
  const { issuer, assertion_algorithms } = provider;
  const server = await issuerOf(app);
  const options = {
    issuer,
    // Clients derive the audience from an address, and some add a slash.
    audience: [server, `${server}/`],
    typ: TYPE,
    algorithms: assertion_algorithms.length > 0 ? assertion_algorithms : [...ASYMMETRIC_ALGORITHMS],
    requiredClaims: [...REQUIRED],
    clockTolerance: TOLERANCE_S,
    maxTokenAge: OLDEST_S,
    currentDate: app.clock(),
  };
  const { payload } = await jwtVerify(assertion, app.providers.keyOf(issuer), options).catch((error: unknown) => {
    throw error instanceof AppError ? error : new AppError('forbidden', sentenceOf(error), { cause: error });
  });
  const { sub, jti, exp = 0, iat = 0, aud } = payload;
  if (!isText(sub) || !isText(jti)) throw refused('sub and jti of the assertion must be texts of 1 to 255 characters.');
  if (Array.isArray(aud) && aud.length > 1) throw refused('The assertion is for several servers. aud must name this one alone.');
  if (payload['client_id'] !== client_id) throw refused('The assertion is for another client: client_id differs.');
  const limit = LIMITS.find((name) => payload[name] !== undefined);
  if (limit !== undefined) throw refused(`The assertion has the claim ${limit}, which this server cannot enforce.`);
  const until = (Math.min(exp, iat + OLDEST_S) + TOLERANCE_S) * 1_000;
  return { provider, claims: { ...payload, sub }, jti, until };
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_TEXT && isPlainText(value);

const SENTENCES: Readonly<Record<string, string>> = {
  [errors.JOSEAlgNotAllowed.code]: 'The assertion is signed with an algorithm that is not accepted.',
  [errors.JWKSNoMatchingKey.code]: 'None of the provider’s keys fits the assertion.',
  [errors.JWKSMultipleMatchingKeys.code]: 'Several keys of the provider fit the assertion. Its header needs a kid.',
  [errors.JWSSignatureVerificationFailed.code]: 'The signature of the assertion does not match.',
};

const OF_CLAIMS: Readonly<Record<string, string>> = {
  typ: `The type of the assertion is not ${TYPE}.`,
  aud: 'The assertion is for another server: aud is not the issuer of this one.',
  nbf: 'The assertion is not valid yet. Compare the clocks.',
  iat: 'The assertion was issued in the future. Compare the clocks.',
};

/** Messages of the library are for developers, and may quote what it read. */
function sentenceOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) {
    return error.claim === 'iat' ? 'The assertion was issued more than ten minutes ago.' : 'The assertion has expired.';
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    const is_known = (REQUIRED as readonly string[]).includes(error.claim);
    if (error.reason === 'missing' && is_known) return `${error.claim} is missing in the assertion.`;
    return OF_CLAIMS[error.claim] ?? 'A claim of the assertion is not valid.';
  }
  const code = error instanceof errors.JOSEError ? error.code : '';
  return SENTENCES[code] ?? 'The assertion cannot be verified.';
}
