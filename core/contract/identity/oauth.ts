import * as v from 'valibot';
import { byId, Id, listInput, listOf, Nothing, shownText, textBetween, Timestamp, Version } from '../fields.ts';
import { field, valuesOf } from '../marks.ts';
import { deletion, operation } from '../operation.ts';
import { expiresInDays, ROTATION_HOURS, tokenEnds } from './token-ends.ts';

export const CLIENT_CHOICES = {
  app: { label: 'OAuth app', help: 'Added by an administrator of this server' },
  known: { label: 'Known client', help: 'Known client' },
  document: { label: 'By web address', help: 'Identified by its web address, not verified by this server' },
  registration: { label: 'Unverified', help: 'Registered itself, unverified' },
};

export const STEP_CHOICES = {
  register: { label: 'Registration' },
  authorize: { label: 'Authorization' },
  consent: { label: 'Consent' },
  token: { label: 'Token' },
  refresh: { label: 'Token refresh' },
  assertion: { label: 'Identity assertion' },
  provider: { label: 'Identity provider' },
  password: { label: 'Password' },
};

export const GRANT_CHOICES = {
  consent: { label: 'Consent' },
  assertion: { label: 'Identity assertion' },
};

/** Details of a client that people sign in with. */
export const ClientFacts = v.object({
  client_id: v.string(),
  name: v.pipe(v.string(), v.description('The name that the client reports; verified only for apps and known clients')),
  kind: v.pipe(
    v.picklist(valuesOf(CLIENT_CHOICES)),
    v.description(
      'app: created by an administrator; known: its document ships with Sluice; document: identified by the host of its client ID; registration: registered itself, unverified',
    ),
  ),
  host: v.pipe(v.nullable(v.string()), v.description('Host of the client ID, when that is an address')),
  trusted: v.pipe(
    v.boolean(),
    v.description('The consent page is skipped: for https addresses, and never for the agent endpoint'),
  ),
});
export type ClientFacts = v.InferOutput<typeof ClientFacts>;

export const OauthScope = v.object({
  name: v.string(),
  title: v.string(),
  description: v.string(),
  tools: v.pipe(v.array(v.string()), v.description('Names of the first tools that it opens')),
  tools_total: v.number(),
  optional: v.pipe(v.boolean(), v.description('It can be left out')),
});
export type OauthScope = v.InferOutput<typeof OauthScope>;

export const OauthRequest = v.object({
  client: ClientFacts,
  resource: v.string(),
  agent: v.pipe(v.boolean(), v.description('It is for the agent endpoint, which changes this server')),
  redirect_host: v.pipe(v.nullable(v.string()), v.description('Host that the answer goes to; null: a program')),
  redirect_scheme: v.pipe(v.string(), v.description('Such as https:, http: for this computer, or that of an editor')),
  person: v.pipe(v.nullable(v.object({ username: v.string() })), v.description('Who is signed in; null: sign in first')),
  scopes: v.pipe(v.array(OauthScope), v.description('The requested scopes that the person can grant; else all they can grant')),
  narrowed: v.pipe(v.boolean(), v.description('The client requested more than the person can grant, or something else')),
  refused: v.pipe(v.nullable(v.string()), v.description('Why this person cannot approve; null: they can')),
  expires_at: Timestamp,
});
export type OauthRequest = v.InferOutput<typeof OauthRequest>;

const RequestId = v.pipe(v.string(), v.regex(/^[\w-]{1,64}$/, 'must be the id of a request'));

const Redirects = v.pipe(v.array(textBetween(1, 2_048)), v.minLength(1), v.maxLength(10));
const appFields = {
  name: field(shownText(64), { label: 'Name', help: 'Shown to people when they are asked for consent.' }),
  redirect_uris: field(Redirects, {
    label: 'Redirect addresses',
    help: 'One per line. Must match exactly; localhost and 127.0.0.1 can use any port.',
    control: 'lines',
    placeholder: 'https://app.example.com/oauth/callback',
  }),
};
const appSwitches = {
  confidential: field(v.boolean(), {
    label: 'Has a secret',
    help: 'For programs on a server. Programs on people’s computers cannot keep one.',
  }),
  trusted: field(v.boolean(), {
    label: 'Skip the consent page',
    help: 'Only for your apps with an https address. People who are signed in are not asked for consent. Local programs and the agent endpoint always ask.',
  }),
};

export const OauthApp = v.object({
  id: Id,
  client_id: v.string(),
  name: v.string(),
  redirect_uris: v.array(v.string()),
  confidential: v.boolean(),
  trusted: v.boolean(),
  client_secret_set: v.pipe(
    v.boolean(),
    v.description('False for a confidential app that was imported: sign-ins fail until it gets a secret'),
  ),
  ...tokenEnds,
  version: v.number(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type OauthApp = v.InferOutput<typeof OauthApp>;

const OnceSecret = v.object({
  ...OauthApp.entries,
  client_secret: v.pipe(v.nullable(v.string()), v.description('Shown only once; null: the app has none')),
});

/** An app in an export. */
export const OauthAppItem = v.strictObject({
  ...appFields,
  client_id: v.optional(v.pipe(v.string(), v.regex(/^svc_app_[A-Za-z0-9]{40}$/, 'must be the client ID of an OAuth app'))),
  confidential: v.optional(appSwitches.confidential, false),
  trusted: v.optional(appSwitches.trusted, false),
});

export const Grant = v.object({
  id: Id,
  kind: v.pipe(
    v.picklist(valuesOf(GRANT_CHOICES)),
    v.description(
      'consent: the person approved the client; assertion: a session that an identity provider allowed, without a refresh token',
    ),
  ),
  person: v.object({ id: Id, username: v.string() }),
  client: ClientFacts,
  resource: v.string(),
  scopes: v.pipe(v.array(v.string()), v.description('Empty: everything that the person may use')),
  created_at: Timestamp,
  last_used_at: v.pipe(Timestamp, v.description('Last time that a token was issued')),
});
export type Grant = v.InferOutput<typeof Grant>;

export const OauthAttempt = v.object({
  id: Id,
  timestamp: Timestamp,
  client: v.pipe(v.string(), v.description('Name of the client or provider, else its ID')),
  client_id: v.string(),
  step: v.pipe(
    v.picklist(valuesOf(STEP_CHOICES)),
    v.description(
      'provider: a person signed in through an identity provider; `client` is its name, `client_id` its issuer. password: a password or second factor was refused',
    ),
  ),
  success: v.boolean(),
  reason: v.pipe(v.nullable(v.string()), v.description('Why the step failed; null: it succeeded')),
  person: v.nullable(v.string()),
  ip: v.nullable(v.string()),
});
export type OauthAttempt = v.InferOutput<typeof OauthAttempt>;

/** Sign-in from MCP clients: pending requests, apps, grants and attempts. */
export const oauth = {
  'oauth_requests.get': operation('GET /oauth/requests/{id}', 'public', {
    requires: 'the cookie of the browser that began the request',
    input: v.strictObject({ id: RequestId }),
    output: OauthRequest,
    summary: 'Get a sign-in request of an MCP client; only the browser that began it can',
  }),
  'oauth_requests.decide': operation('POST /oauth/requests/{id}', 'public', {
    requires: 'the cookie of the browser that began the request; to approve, a person must be signed in there',
    input: v.strictObject({
      id: RequestId,
      decision: v.picklist(['approve', 'deny']),
      scopes: v.optional(
        v.pipe(v.array(textBetween(1, 64)), v.maxLength(500), v.description('Of the requested ones; without it, all of them')),
      ),
    }),
    output: v.object({ redirect_to: v.pipe(v.string(), v.description('Where the browser takes the answer')) }),
    summary: 'Approve or deny a sign-in request, as the person who is signed in',
  }),
  'oauth_apps.list': operation('GET /oauth-apps', 'session', {
    input: v.strictObject(listInput(100)),
    output: listOf(OauthApp),
    summary: 'List OAuth apps that administrators created, newest first',
  }),
  'oauth_apps.create': operation('POST /oauth-apps', 'session', {
    input: v.strictObject({
      ...appFields,
      confidential: v.optional(appSwitches.confidential, false),
      trusted: v.optional(appSwitches.trusted, false),
      ...expiresInDays,
    }),
    output: OnceSecret,
    status: 201,
    summary: 'Create an OAuth app, a client that people can sign in with',
  }),
  'oauth_apps.update': operation('PATCH /oauth-apps/{id}', 'session', {
    input: v.strictObject({
      id: Id,
      version: v.optional(Version),
      name: v.optional(appFields.name),
      redirect_uris: v.optional(appFields.redirect_uris),
      trusted: v.optional(appSwitches.trusted),
    }),
    output: OauthApp,
    summary: 'Change the name, redirect addresses or trust of an OAuth app',
  }),
  'oauth_apps.renew_secret': operation('POST /oauth-apps/{id}/secret', 'session', {
    input: v.strictObject({ id: Id, version: v.optional(Version), ...expiresInDays }),
    output: OnceSecret,
    summary: 'Give an OAuth app a new secret and a new end; the secret before stops working at once',
  }),
  'oauth_apps.rotate': operation('POST /oauth-apps/{id}/rotate', 'session', {
    input: v.strictObject({ id: Id, version: v.optional(Version), ...expiresInDays }),
    output: OnceSecret,
    summary: `Give an OAuth app a new secret and a new end; the secret before works for ${ROTATION_HOURS} hours more`,
  }),
  'oauth_apps.delete': deletion(
    'DELETE /oauth-apps/{id}',
    'session',
    'Delete an OAuth app; its grants and tokens end within a second',
  ),
  'grants.list': operation('GET /grants', 'session', {
    role: 'caller',
    input: v.strictObject({ ...listInput(100), mine: v.optional(v.pipe(v.boolean(), v.description('Only your own')), false) }),
    output: listOf(Grant),
    summary: 'List clients that people signed in with, last used first',
  }),
  'grants.delete': operation('DELETE /grants/{id}', 'session', {
    role: 'caller',
    input: byId,
    output: Nothing,
    status: 204,
    summary: 'End a grant; its tokens stop working within a second on every connected host',
  }),
  'oauth_attempts.list': operation('GET /oauth/attempts', 'session', {
    input: v.strictObject({ ...listInput(100), success: v.optional(v.boolean()) }),
    output: listOf(OauthAttempt),
    summary:
      'List the last 500 sign-in attempts of MCP clients and through identity providers, and refused passwords, newest first',
  }),
};
