import * as v from 'valibot';
import { byId, Empty, Id, listOf, Nothing, shownText, textBetween, Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';
import { ROLES } from '../roles.ts';

/** A new username. Surrounding white space is refused, because the name would look the same as another one. */
export const Username = v.pipe(shownText(255), v.regex(/^\S(?:.*\S)?$/su, 'must not begin or end with white space'));
export const NewPassword = textBetween(8, 1_024);
const Password = textBetween(1, 1_024);

export const Role = v.picklist(ROLES);

export const Account = v.object({
  id: v.string(),
  username: v.string(),
  display_name: v.nullable(v.string()),
  email: v.nullable(v.string()),
  role: Role,
  groups: v.array(v.string()),
  totp_enabled: v.boolean(),
  has_password: v.pipe(v.boolean(), v.description('Without a password the person signs in through an identity provider alone')),
  created_at: Timestamp,
});
export const LoginResult = v.union([
  v.object({ totp_required: v.literal(true), pending_token: v.string(), expires_in: v.number() }),
  v.object({ totp_required: v.literal(false), username: v.string() }),
]);
export const Session = v.object({
  id: v.string(),
  current: v.boolean(),
  ip: v.nullable(v.string()),
  user_agent: v.nullable(v.string()),
  created_at: Timestamp,
  last_seen_at: Timestamp,
  expires_at: Timestamp,
});
export type Session = v.InferOutput<typeof Session>;

export const LinkedAccount = v.object({
  id: v.string(),
  issuer: v.string(),
  provider: v.pipe(v.nullable(v.string()), v.description('Name of the identity provider; null: it was deleted')),
  enabled: v.pipe(v.boolean(), v.description('The provider is enabled, so this account can be used to sign in')),
  created_at: Timestamp,
  last_used_at: Timestamp,
});
export type LinkedAccount = v.InferOutput<typeof LinkedAccount>;

const Code = v.pipe(textBetween(1, 64), v.description('Six digits from the authenticator, or a recovery code'));
const IsRecovery = v.optional(v.pipe(v.boolean(), v.description('The code is a recovery code')), false);
const RecoveryCodes = v.pipe(v.array(v.string()), v.description('Each works once; shown only once'));

export const auth = {
  'auth.status': operation('GET /auth/status', 'public', {
    input: Empty,
    output: v.object({
      setup_required: v.boolean(),
      setup_token_required: v.pipe(
        v.optional(v.boolean()),
        v.description('While setup is required: whether the first account needs the value of SVC_SETUP_TOKEN'),
      ),
      authenticated: v.boolean(),
      version: v.string(),
      providers: v.pipe(
        v.array(v.object({ id: Id, name: v.string() })),
        v.description('Enabled identity providers; a sign-in begins at auth/oidc/{id}/start'),
      ),
      password_sign_in: v.pipe(v.boolean(), v.description('Whether people can sign in with a password')),
    }),
    summary: 'Check whether the first account must still be created',
  }),
  'auth.setup': operation('POST /auth/setup', 'public', {
    input: v.strictObject({
      username: Username,
      password: NewPassword,
      setup_token: v.pipe(v.optional(textBetween(1, 1_000)), v.description('The value of SVC_SETUP_TOKEN, if that is set')),
    }),
    output: v.object({ username: v.string(), totp_enabled: v.boolean() }),
    status: 201,
    summary: 'Create the first account, the owner, and sign in',
  }),
  'auth.login': operation('POST /auth/login', 'public', {
    input: v.strictObject({ username: textBetween(1, 255), password: Password }),
    output: LoginResult,
    summary: 'Sign in',
  }),
  'auth.logout': operation('POST /auth/logout', 'public', {
    input: Empty,
    output: Nothing,
    status: 204,
    summary: 'Sign out',
  }),
  'auth.me': operation('GET /auth/me', 'session', {
    role: 'caller',
    input: Empty,
    output: Account,
    summary: 'Get the signed-in person',
  }),
  'auth.update_me': operation('PATCH /auth/me', 'session', {
    role: 'caller',
    input: v.strictObject({ current_password: Password, username: v.optional(Username), password: v.optional(NewPassword) }),
    output: Account,
    summary: 'Change the user name or password; all other sessions end',
  }),
  'auth.prove': operation('POST /auth/prove', 'session', {
    role: 'caller',
    input: v.strictObject({
      password: v.pipe(v.optional(Password), v.description('Your password; absent: a code is sent')),
      code: v.optional(Code),
      is_recovery: IsRecovery,
    }),
    output: v.object({
      proved_until: v.pipe(Timestamp, v.description('Until then, changes that answer proof_required are accepted')),
    }),
    summary: 'Prove again who you are, with the password or a second factor, before a dangerous change',
  }),
  'auth.sessions': operation('GET /auth/sessions', 'session', {
    role: 'caller',
    input: Empty,
    output: listOf(Session),
    summary: 'List active sessions of this account',
  }),
  'auth.revoke_session': operation('DELETE /auth/sessions/{id}', 'session', {
    role: 'caller',
    input: byId,
    output: Nothing,
    status: 204,
    summary: 'End a session',
  }),
  'auth.identities': operation('GET /auth/identities', 'session', {
    role: 'caller',
    input: Empty,
    output: listOf(LinkedAccount),
    summary: 'List your linked accounts at identity providers',
  }),
  'auth.unlink_identity': operation('DELETE /auth/identities/{id}', 'session', {
    role: 'caller',
    input: byId,
    output: Nothing,
    status: 204,
    summary: 'Unlink an account at an identity provider; not the only way to sign in',
  }),
};

/** The second factor: time-based codes (RFC 6238) and recovery codes. */
export const twoFactor = {
  'two_factor.login': operation('POST /auth/login/verify-2fa', 'public', {
    input: v.strictObject({ pending_token: textBetween(1, 200), code: Code, is_recovery: IsRecovery }),
    output: LoginResult,
    summary: 'Complete the sign-in with the second factor',
  }),
  'two_factor.status': operation('GET /auth/2fa/status', 'session', {
    role: 'caller',
    input: Empty,
    output: v.object({ totp_enabled: v.boolean(), recovery_codes_remaining: v.number() }),
    summary: 'Check whether two-factor authentication is on, and how many recovery codes are left',
  }),
  'two_factor.setup': operation('POST /auth/2fa/setup', 'session', {
    role: 'caller',
    input: v.strictObject({
      password: v.optional(v.pipe(Password, v.description('Required when the session is older than ten minutes'))),
    }),
    output: v.object({
      secret: v.pipe(v.string(), v.description('Base32, for manual entry in an authenticator')),
      otpauth_uri: v.string(),
      qr_svg: v.pipe(v.string(), v.description('The address as a QR code, an SVG document')),
      recovery_codes: RecoveryCodes,
    }),
    summary: 'Start setting up two-factor authentication; a code confirms it',
  }),
  'two_factor.verify_setup': operation('POST /auth/2fa/verify-setup', 'session', {
    role: 'caller',
    input: v.strictObject({ code: Code }),
    output: v.object({ totp_enabled: v.boolean() }),
    summary: 'Turn two-factor authentication on; all other sessions end',
  }),
  'two_factor.disable': operation('POST /auth/2fa/disable', 'session', {
    role: 'caller',
    input: v.strictObject({ password: Password, code: Code, is_recovery: IsRecovery }),
    output: v.object({ totp_enabled: v.boolean() }),
    summary: 'Turn two-factor authentication off; all other sessions end',
  }),
  'two_factor.regenerate_recovery': operation('POST /auth/2fa/regenerate-recovery', 'session', {
    role: 'caller',
    input: v.strictObject({ password: Password, code: Code }),
    output: v.object({ recovery_codes: RecoveryCodes }),
    summary: 'Create new recovery codes; the old ones stop working and all other sessions end',
  }),
};
