import type { Platform } from '#core/platform/platform.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { type FieldError, refuseFields, didYouMean, AppError } from '#core/errors.ts';
import { type Settings, differs } from '#core/settings/settings.ts';
import { asksNothing, isLoopback } from '#core/contract/settings/config.ts';
import { activeSnapshot } from '#core/versions/deployment.ts';
import { isReference } from '#core/lib/sealed-values.ts';
import { openDnsCredentials } from '#core/settings/secrets.ts';

/** Checks that a schema cannot express. Reports all faults at once, except a blocked address, which has a separate error. */
export async function checkSettings(app: Platform & WithSnapshots, before: Settings, after: Settings): Promise<void> {
  const changed = (field: keyof Settings): boolean => differs(field, before, after);
  const errors: FieldError[] = [];
  if (changed('cors_origins') && after.cors_origins.includes('*') && app.env.SVC_ENV === 'production') {
    const message = 'cors_origins must name every origin in production; * is not allowed there.';
    errors.push({ field: 'cors_origins', message });
  }
  const most_days = app.env.SVC_TOKEN_MAX_DAYS;
  if (changed('token_default_days') && most_days > 0 && after.token_default_days > most_days) {
    const message = `token_default_days must be at most ${most_days}, the longest lifetime that the operator allows (SVC_TOKEN_MAX_DAYS).`;
    errors.push({ field: 'token_default_days', message });
  }
  if (changed('prompt_guard_allow')) errors.push(...(await unknownRules(before.prompt_guard_allow, after.prompt_guard_allow)));
  if (changed('mcp_proxy') && after.mcp_proxy) errors.push(...(await openProxy(app)));
  if (changed('dns_provider') || changed('dns_credentials')) errors.push(...(await misfitCredentials(app, before, after)));
  if (after.audit_otlp && !before.audit_otlp && app.env.SVC_OTLP_ENDPOINT === null) {
    errors.push({ field: 'audit_otlp', message: 'audit_otlp needs a collector: set SVC_OTLP_ENDPOINT of the server.' });
  }
  refuseFields(errors);
  if (changed('introspection_url') && after.introspection_url !== null) {
    await checkAddress(app, 'introspection_url', after.introspection_url);
  }
  if (changed('audit_syslog') && after.audit_syslog !== null) {
    const { host, port } = after.audit_syslog;
    await checkAddress(app, 'audit_syslog.host', `https://${host.includes(':') ? `[${host}]` : host}:${port}`);
  }
  if (changed('jwt_issuers')) {
    for (const [index, { issuer, jwks_url }] of after.jwt_issuers.entries()) {
      await checkAddress(app, `jwt_issuers.${index}.${jwks_url === null ? 'issuer' : 'jwks_url'}`, jwks_url ?? issuer);
    }
  }
}

/** The setting takes effect at once, so it is refused here and not at the next deploy. */
async function openProxy(app: Platform & WithSnapshots): Promise<FieldError[]> {
  if (!app.env.SVC_REQUIRE_AUTH || isLoopback(app.env.SVC_BIND)) return [];
  const active = await activeSnapshot(app);
  if (active === null || !asksNothing(active.server)) return [];
  const message =
    'mcp_proxy would let anyone who can reach this server call the tools, but this installation requires authentication (SVC_REQUIRE_AUTH). Deploy another auth_type first.';
  return [{ field: 'mcp_proxy', message }];
}

/** Rules of earlier versions stay in the list until someone removes them: they have no effect and block no other change. */
async function unknownRules(stored: readonly string[], allowed: readonly string[]): Promise<FieldError[]> {
  const { isAllowance, listRules } = await import('#core/lib/prompt-guard/guard.ts');
  const known = listRules().map(({ id }) => id);
  return allowed.flatMap((entry, index) => {
    if (stored.includes(entry) || isAllowance(entry)) return [];
    const field = `prompt_guard_allow.${index}`;
    const message = known.includes(entry)
      ? `${field}: ${entry} would turn off the model for every text. Allow single texts by their key, or set prompt_guard_enabled to false.`
      : `${field} is not a rule of the prompt guard or the key of a text.${didYouMean(entry, known)}`;
    return [{ field, message }];
  });
}

/** The credentials must fit the provider, even if only one of the two was sent. Those of a reference are read when they are used. */
async function misfitCredentials({ secrets }: Platform, before: Settings, after: Settings): Promise<FieldError[]> {
  const { dns_provider, dns_credentials } = after;
  if (dns_credentials === null) return [];
  if (dns_provider === null) {
    if (!differs('dns_credentials', before, after)) return [];
    return [{ field: 'dns_provider', message: 'dns_provider is required with dns_credentials.' }];
  }
  if (isReference(dns_credentials)) return [];
  const credentials = await openDnsCredentials(secrets, dns_credentials);
  const fits = credentials !== null && 'api_token' in credentials === (dns_provider === 'cloudflare');
  const fields = dns_provider === 'cloudflare' ? 'api_token' : 'access_key_id and secret_access_key';
  return fits ? [] : [{ field: 'dns_credentials', message: `dns_credentials must have ${fields} for ${dns_provider}.` }];
}

/**
 * Checks an address that this server or a host connects to. A name that does not resolve now is accepted, because every
 * connection checks again.
 */
async function checkAddress(app: Platform, field: string, text: string): Promise<void> {
  const { protocol, hostname, port } = new URL(text);
  const { resolveTarget } = await import('#core/engines/shared/dial.ts');
  try {
    await resolveTarget(hostname, Number(port || (protocol === 'https:' ? 443 : 80)), app.policy);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'database_unreachable') return;
    throw new AppError(error.code, error.detail, { cause: error, errors: [{ field, message: error.detail }] });
  }
}
