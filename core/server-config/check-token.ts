import type { Platform } from '#core/platform/platform.ts';
import { decodeJwt, importJWK, type JWK } from 'jose';
import type { JwtIssuer } from '#core/contract/settings/jwt-issuers.ts';
import { valuesOf } from '#core/contract/marks.ts';
import { TOKEN_CHECKS, type TokenCheckResult } from '#core/contract/settings/token-check.ts';
import { readSettings } from '#core/settings/settings.ts';
import { foreignCaller, foreignRules } from '#core/edge/foreign-tokens.ts';
import { type CheckedToken, checkToken } from '#core/edge/token-checks.ts';
import { documentOf } from '#core/engines/shared/bounded-text.ts';
import { guardedFetch } from '#core/engines/shared/dial.ts';
import { chooseKey, DOCUMENT_LIMIT, readJwks } from '#core/edge/issuer-keys.ts';
import { AppError } from '#core/errors.ts';
import type { Handlers } from '#core/context/context.ts';

const CHECKS = valuesOf(TOKEN_CHECKS);
type Check = (typeof CHECKS)[number];

const TIMEOUT_MS = 5_000;
const PASSED: Readonly<Record<Check, string>> = {
  form: 'It is a signed JWT.',
  algorithm: 'The signature algorithm is accepted.',
  type: 'The type is that of an access token.',
  issuer: 'The issuer is in the settings.',
  key: 'The issuer publishes the key.',
  signature: 'The signature matches.',
  audience: 'It is for the required audience.',
  expiry: 'It has not expired.',
  times: 'It was not issued in the future.',
  kind: 'It is an access token that anyone who has it can use.',
  claims: 'It has a subject and every required claim.',
};

export const checkTokenHandlers: Pick<Handlers, 'config.check_token'> = {
  'config.check_token': async ({ app }, { token }) => {
    const { settings } = await readSettings(app);
    const named = issuerOf(token);
    const issuer = settings.jwt_issuers.find((one) => one.issuer === named);
    const checked = await check(app, token.trim(), issuer);
    if ('failed' in checked) return { accepted: false, checks: toResults(checked), caller: null };
    const { identity, scopes } = foreignCaller(checked.payload, issuer!);
    const { sub, name, email, client_id, groups } = identity;
    return {
      accepted: true,
      checks: toResults(null),
      caller: { sub, name, email, client_id, groups: [...groups], scopes: [...scopes] },
    };
  },
};

/** Reads the keys again, so that the result is up to date. */
async function check(app: Platform, token: string, issuer: JwtIssuer | undefined): Promise<CheckedToken> {
  const now = app.clock().getTime();
  // No known issuer signed it, but the other checks still run.
  if (issuer === undefined)
    return checkToken(
      token,
      foreignRules(ANY_ISSUER, () => null),
      now,
    );
  const faults: string[] = [];
  const rules = foreignRules(issuer, async ({ kid, alg }) => {
    try {
      const jwk = chooseKey(await keysOf(app, issuer), kid, alg);
      const key = jwk === null ? null : await importJWK(jwk, alg);
      return key instanceof Uint8Array ? null : key;
    } catch (error) {
      faults.push(error instanceof AppError ? error.detail : error instanceof Error ? error.message : String(error));
      return null;
    }
  });
  const checked = await checkToken(token, rules, now);
  const [fault] = faults;
  return fault === undefined ? checked : { failed: 'key', reason: `The keys could not be read: ${fault}` };
}

const ANY_ISSUER: JwtIssuer = {
  issuer: 'one of the issuers in the settings',
  jwks_url: null,
  audience: '',
  algorithms: [],
  scope_claim: null,
  groups_claim: 'groups',
  name_claim: 'name',
  required_claims: {},
};

function keysOf({ policy }: Platform, issuer: JwtIssuer): Promise<JWK[]> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return readJwks(issuer, async (url) =>
    documentOf(await guardedFetch(url, { headers: { accept: 'application/json' }, signal }, policy), DOCUMENT_LIMIT),
  );
}

function issuerOf(token: string): unknown {
  try {
    return decodeJwt(token.trim()).iss;
  } catch {
    return undefined;
  }
}

function toResults(fault: { readonly failed: Check; readonly reason: string } | null): TokenCheckResult[] {
  const at = fault === null ? CHECKS.length : CHECKS.indexOf(fault.failed);
  return CHECKS.map((name, index) => {
    if (index < at) return { check: name, status: 'passed', message: PASSED[name] };
    if (index === at && fault !== null) return { check: name, status: 'failed', message: fault.reason };
    return { check: name, status: 'skipped', message: 'Not checked because an earlier check failed.' };
  });
}
