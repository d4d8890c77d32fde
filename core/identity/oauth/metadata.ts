import type { Platform } from '#core/platform/platform.ts';
import { readSettings } from '#core/settings/settings.ts';
import { issuerOf } from '#core/settings/public-urls.ts';
import { ASSERTION_GRANT, ASSERTION_PROFILE } from './assertions/by-assertion.ts';
import { acceptsAssertions } from './assertions/verify.ts';
import { signInRefusal } from './resources.ts';
import { METADATA_SCOPES } from './scopes.ts';

/** The document of RFC 8414, built only from the configuration, never from a request. Null when MCP clients cannot sign in. */
export async function serverMetadata(app: Platform): Promise<object | null> {
  const issuer = await issuerOf(app);
  if (signInRefusal(issuer) !== null) return null;
  const assertions = await acceptsAssertions(app);
  const { dynamic_registration } = (await readSettings(app)).settings;
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    ...(dynamic_registration ? { registration_endpoint: `${issuer}/oauth/register` } : {}),
    revocation_endpoint: `${issuer}/oauth/revoke`,
    jwks_uri: `${issuer}/oauth/jwks`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: [
      'authorization_code',
      'refresh_token',
      'client_credentials',
      ...(assertions ? [ASSERTION_GRANT] : []),
    ],
    ...(assertions && { authorization_grant_profiles_supported: [ASSERTION_PROFILE] }),
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    scopes_supported: METADATA_SCOPES,
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  };
}
