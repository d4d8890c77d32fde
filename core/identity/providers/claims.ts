import type { ProvidedRole } from '#core/contract/identity/identity-providers.ts';
import { claimAt } from '#core/edge/token-checks.ts';
import { AppError } from '#core/errors.ts';
import type { ProviderRow } from './stored.ts';

/** Claims of a provider about a person. The types of the values are not checked yet. */
export type Claims = Readonly<Record<string, unknown>> & { readonly sub: string };

/** The claims that are stored for a person. */
export interface Profile {
  readonly subject: string;
  readonly username: string;
  readonly display_name: string | null;
  /** Null when the provider marks it as unverified. */
  readonly email: string | null;
  /** All groups. Null when the provider did not send them, so the stored groups stay. */
  readonly groups: readonly string[] | null;
  /** Null when a mapped group is required and the person is in none. Undefined when the provider did not send groups. */
  readonly role: ProvidedRole | null | undefined;
}

/** Maximum length of a group name to which a role is mapped. */
const LONGEST_NAMED = 255;
const LONGEST_NAME = 200;
const LONGEST_USERNAME = 255;
const RISING: readonly ProvidedRole[] = ['caller', 'viewer', 'editor', 'admin'];
/** Anyone can create a Google account with an address of any domain. Only `hd` identifies members of an organisation. */
const GOOGLE = 'https://accounts.google.com';

/** Reads the claims of a verified ID token. Throws `forbidden` for a person whom the settings of the provider do not admit. */
export function toProfile(provider: ProviderRow, claims: Claims): Profile {
  refuseForeignDomain(provider, claims);
  const email = textOf(claims['email'], LONGEST_USERNAME);
  const groups = groupsOf(provider, claims);
  const username = textOf(claims['preferred_username'], LONGEST_USERNAME) ?? email ?? claims.sub;
  return {
    subject: claims.sub,
    username,
    display_name: textOf(claims['name'], LONGEST_NAME),
    email: claims['email_verified'] === false ? null : email,
    groups,
    role: groups === null ? undefined : roleOf(provider, groups),
  };
}

/**
 * Reads the claims of a verified identity assertion, which contains less than an ID token: what it does not say stays as it is.
 * @param email the stored address of the person, which the domain rule applies to when the assertion confirms none.
 */
export function toAssertedProfile(provider: ProviderRow, claims: Claims, email: string | null): Profile {
  const { allowed_domains, groups_claim } = provider;
  const is_silent = claims['email_verified'] !== true && allowed_domains.length > 0 && email !== null;
  const profile = toProfile(provider, is_silent ? { ...claims, email, email_verified: true } : claims);
  const has_groups = groups_claim === null || claimAt(claims, groups_claim) !== undefined;
  return has_groups ? profile : { ...profile, groups: null, role: undefined };
}

const notAdmitted = (detail: string) => new AppError('forbidden', detail, { reason: 'not_admitted' });

function refuseForeignDomain({ allowed_domains, issuer }: ProviderRow, claims: Claims): void {
  if (allowed_domains.length === 0) return;
  const email = textOf(claims['email'], LONGEST_USERNAME);
  // Only `true` or the text "true": some providers send a text.
  const verified = claims['email_verified'] === true || claims['email_verified'] === 'true';
  if (email === null || !verified) {
    throw notAdmitted('The identity provider did not confirm an email address of yours, which is required here.');
  }
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  const fits = allowed_domains.includes(domain) && email.includes('@');
  const hosted = issuer !== GOOGLE || domain === 'gmail.com' || textOf(claims['hd'], LONGEST_NAME)?.toLowerCase() === domain;
  if (!fits || !hosted) throw notAdmitted('Your email address is not of a domain that may sign in here.');
}

/** The highest role of a person's groups, or the default role. */
function roleOf({ role_by_group, default_role }: ProviderRow, groups: readonly string[]): ProvidedRole | null {
  const held = groups.flatMap((group) => (Object.hasOwn(role_by_group, group) ? [role_by_group[group]] : []));
  return RISING.findLast((role) => held.includes(role)) ?? default_role;
}

/** Null when the person has more groups than the provider puts into a token, so that none of them is known. */
function groupsOf({ groups_claim }: ProviderRow, claims: Claims): readonly string[] | null {
  if (groups_claim === null) return [];
  if (isOverage(claims, groups_claim)) return null;
  const value = claimAt(claims, groups_claim);
  const named: readonly unknown[] = Array.isArray(value) ? value : [value];
  return [...new Set(named.flatMap((name) => textOf(name, LONGEST_NAMED) ?? []))];
}

/**
 * With too many groups for the token, Entra refers to another source of the claim (OpenID Connect Core 1.0, section 5.6.2), or
 * sends `hasgroups`.
 */
export function isOverage(claims: Claims, groups_claim: string): boolean {
  const names = claims['_claim_names'];
  const elsewhere = typeof names === 'object' && names !== null && Object.hasOwn(names, groups_claim);
  return claimAt(claims, groups_claim) === undefined && (elsewhere || claims['hasgroups'] === true);
}

/** One line of visible text. Longer or malformed text is ignored, not cut. */
function textOf(value: unknown, longest: number): string | null {
  if (typeof value !== 'string') return null;
  const text = value.normalize('NFC').trim();
  // Control and format characters, such as those that change the text direction.
  return text === '' || text.length > longest || /[\p{Cc}\p{Cf}\p{Cs}]/u.test(text) ? null : text;
}
