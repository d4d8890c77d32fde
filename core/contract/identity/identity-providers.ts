import * as v from 'valibot';
import { byId, CHECK_CHOICES, Id, listInput, listOf, patchOf, shownText, stored, textBetween, Version } from '../fields.ts';
import { field, valuesOf } from '../marks.ts';
import { deletion, operation } from '../operation.ts';
import { ROLE_CHOICES } from '../roles.ts';
import { secretOrRef, ShownRef } from '../fields.ts';
import { ASYMMETRIC_ALGORITHMS } from '../settings/jwt-issuers.ts';
import { ClientId, Domain, IssuerUrl, ScopeName, Secret } from '../settings/setting-values.ts';

/** Roles that a sign-in can assign. Owner is not among them: only owners can give that role. */
export const ProvidedRole = v.picklist(['caller', 'viewer', 'editor', 'admin']);
export type ProvidedRole = v.InferOutput<typeof ProvidedRole>;

const MOST_GROUPS = 200;
const MOST_SCOPES = 20;
const MOST_DOMAINS = 50;
const MOST_CLIENTS = 50;

export const IdentityProviderDraft = v.strictObject({
  name: field(shownText(100), { label: 'Name', help: 'Shown on the button of the sign-in page.', placeholder: 'Google' }),
  issuer: field(IssuerUrl, {
    label: 'Issuer',
    help: 'Exactly as in the provider’s metadata, including the path.',
    control: 'url',
    placeholder: 'https://login.example.com/realms/shop',
  }),
  client_id: field(ClientId, { label: 'Client ID', control: 'mono' }),
  client_secret: field(v.nullable(secretOrRef(Secret)), {
    label: 'Client secret',
    help: 'Leave empty for a public client, which signs in with PKCE alone.',
    secret: true,
    default: null,
  }),
  scopes: field(v.pipe(v.array(ScopeName), v.maxLength(MOST_SCOPES)), {
    label: 'Scopes',
    help: 'Requested at sign-in. openid is always included.',
    default: () => ['openid', 'email', 'profile'],
  }),
  groups_claim: field(v.nullable(textBetween(1, 255)), {
    label: 'Groups claim',
    help: 'The claim that lists a person’s groups, such as groups or realm_access.roles. Leave empty to manage groups here.',
    control: 'mono',
    default: null,
  }),
  allowed_domains: field(v.pipe(v.array(Domain), v.maxLength(MOST_DOMAINS)), {
    label: 'Allowed domains',
    help: 'Only people with a verified email address of one of these domains can sign in. Leave empty to allow all.',
    default: () => [],
  }),
  create_people: field(v.boolean(), {
    label: 'Create people',
    help: 'Creates a person at their first sign-in. When off, only people who linked their account can sign in.',
    default: false,
  }),
  default_role: field(v.nullable(ProvidedRole), {
    label: 'Default role',
    help: 'For people without a group below. “None” lets only those groups sign in.',
    choices: {
      null: { label: 'None' },
      ...Object.fromEntries(ProvidedRole.options.map((role) => [role, { label: ROLE_CHOICES[role].label }])),
    },
    default: 'caller',
  }),
  role_by_group: field(
    v.pipe(
      v.record(textBetween(1, 255), ProvidedRole),
      v.check((roles) => Object.keys(roles).length <= MOST_GROUPS, `must have at most ${MOST_GROUPS} groups`),
    ),
    {
      label: 'Roles by group',
      help: 'A person in several groups gets the highest role. Roles follow the groups at every sign-in.',
      default: () => ({}),
    },
  ),
  accept_assertions: field(v.boolean(), {
    label: 'Accept identity assertions',
    help: 'Clients get access with an assertion of this provider (ID-JAG), without a consent page: the provider decides who uses which client. Off by default.',
    default: false,
  }),
  assertion_clients: field(v.pipe(v.array(textBetween(1, 2_048)), v.maxLength(MOST_CLIENTS)), {
    label: 'Clients of assertions',
    help: 'One per line: the client IDs of OAuth apps, or https addresses of client metadata documents. Others are refused.',
    control: 'lines',
    placeholder: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    default: () => [],
  }),
  assertion_algorithms: field(v.pipe(v.array(v.picklist(ASYMMETRIC_ALGORITHMS)), v.maxLength(ASYMMETRIC_ALGORITHMS.length)), {
    label: 'Algorithms of assertions',
    help: 'Accepted signature algorithms, such as RS256. Leave empty to accept every asymmetric one.',
    default: () => [],
  }),
  enabled: field(v.boolean(), { label: 'Enabled', help: 'Shown on the sign-in page.', default: true }),
});
export type IdentityProviderDraft = v.InferOutput<typeof IdentityProviderDraft>;

const { client_secret: _secret, ...shown } = IdentityProviderDraft.entries;

export const IdentityProvider = v.object({
  id: Id,
  ...shown,
  client_secret: ShownRef,
  client_secret_set: v.boolean(),
  client_secret_missing: v.pipe(
    v.boolean(),
    v.description('It was imported without its secret: sign-ins fail until client_secret is set, or null for a public client'),
  ),
  redirect_uri: v.pipe(
    v.nullable(v.string()),
    v.description('To be registered with the provider; null if SVC_PUBLIC_URL is not set: the origin of the UI with this path'),
  ),
  people: v.pipe(v.number(), v.description('People who have signed in through this issuer')),
  ...stored,
});
export type IdentityProvider = v.InferOutput<typeof IdentityProvider>;

/** One check of a provider, in order. */
export const PROVIDER_CHECKS = {
  address: { label: 'Address' },
  discovery: { label: 'Metadata' },
  issuer: { label: 'Issuer' },
  endpoints: { label: 'Endpoints' },
  pkce: { label: 'PKCE' },
  algorithms: { label: 'Algorithms' },
  keys: { label: 'Signing keys' },
  scopes: { label: 'Scopes' },
  client: { label: 'Client credentials' },
  assertions: { label: 'Identity assertions' },
};
export const ProviderCheck = v.object({
  check: v.picklist(valuesOf(PROVIDER_CHECKS)),
  status: v.picklist([...valuesOf(CHECK_CHOICES), 'warning']),
  message: v.string(),
});
export type ProviderCheck = v.InferOutput<typeof ProviderCheck>;

/** Path to which providers return the browser. */
export const CALLBACK_PATH = '/api/v1/auth/oidc/callback';

/** OpenID Connect providers for sign-in. Only administrators can change them, because they decide who can sign in. */
export const identityProviders = {
  'identity_providers.list': operation('GET /identity-providers', 'session', {
    input: v.strictObject(listInput(100)),
    output: listOf(IdentityProvider),
    summary: 'List identity providers, in the order of their names',
  }),
  'identity_providers.create': operation('POST /identity-providers', 'session', {
    input: IdentityProviderDraft,
    output: IdentityProvider,
    status: 201,
    summary: 'Create an identity provider',
  }),
  'identity_providers.update': operation('PATCH /identity-providers/{id}', 'session', {
    input: v.strictObject({ id: Id, version: v.optional(Version), ...patchOf(IdentityProviderDraft.entries) }),
    output: IdentityProvider,
    summary: 'Change an identity provider; a new issuer needs the client secret again',
  }),
  'identity_providers.delete': deletion(
    'DELETE /identity-providers/{id}',
    'session',
    'Delete an identity provider; its people stay, and can no longer sign in through it',
  ),
  'identity_providers.test': operation('POST /identity-providers/{id}/test', 'session', {
    input: byId,
    output: v.object({ success: v.boolean(), checks: v.array(ProviderCheck) }),
    summary: 'Check address, metadata, issuer, PKCE, keys and client credentials of an identity provider',
  }),
};
