import * as v from 'valibot';
import { byId, Id, listInput, listOf, patchOf, shownText, textBetween, Timestamp, Version } from '../fields.ts';
import { field } from '../marks.ts';
import { deletion, operation } from '../operation.ts';
import { LoginResult, NewPassword, Role, Username } from './auth.ts';
import { ROLE_CHOICES } from '../roles.ts';

export const MOST_PEOPLE = 1_000;
export const MOST_GROUPS = 100;
export const LONGEST_GROUP = 100;

export const Groups = v.pipe(
  v.array(v.pipe(textBetween(1, LONGEST_GROUP), v.regex(/^\S(.*\S)?$/s, 'must not begin or end with a space'))),
  v.maxLength(MOST_GROUPS),
  v.check((groups) => new Set(groups).size === groups.length, 'must name each group once'),
);

/** The fields of a person that an administrator can set. */
export const PersonDraft = v.strictObject({
  username: field(Username, { label: 'Username', help: 'What the person signs in with.' }),
  display_name: field(v.nullable(shownText(200)), {
    label: 'Name',
    help: 'How the person is shown to others.',
    default: null,
  }),
  email: field(v.nullable(v.pipe(textBetween(3, 320), v.email('must be an email address'))), {
    label: 'Email',
    help: 'Passed to SQL as caller.email. Sluice sends no email.',
    control: 'email',
    default: null,
  }),
  role: field(Role, { label: 'Role', control: 'cards', choices: ROLE_CHOICES, default: 'caller' }),
  groups: field(Groups, { label: 'Groups', help: 'Decide which toolsets the person may use.', default: [] }),
  enabled: field(v.boolean(), {
    label: 'Enabled',
    help: 'Disabled people cannot sign in, and their sessions end.',
    default: true,
  }),
});

export const Person = v.object({
  id: Id,
  username: v.string(),
  display_name: v.nullable(v.string()),
  email: v.nullable(v.string()),
  role: Role,
  groups: v.array(v.string()),
  enabled: v.boolean(),
  sign_in: v.picklist(['password', 'oidc']),
  can_sign_in: v.pipe(v.boolean(), v.description('False until the person has accepted the invitation')),
  totp_enabled: v.boolean(),
  invite_expires_at: v.pipe(v.nullable(Timestamp), v.description('Of an invitation that was not accepted yet')),
  last_seen_at: v.nullable(Timestamp),
  version: v.number(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Person = v.InferOutput<typeof Person>;

export const people = {
  'people.list': operation('GET /people', 'session', {
    input: v.strictObject({
      ...listInput(500),
      search: v.pipe(
        v.optional(textBetween(1, 200)),
        v.description('Words that the user name, display name or email address has'),
      ),
      role: v.optional(Role),
      enabled: v.optional(v.boolean()),
      group: v.optional(textBetween(1, 100)),
    }),
    output: listOf(Person),
    summary: 'List people, by username',
  }),
  'people.create': operation('POST /people', 'session', {
    input: PersonDraft,
    output: Person,
    status: 201,
    summary: 'Create a person, who can sign in after an invitation',
  }),
  'people.get': operation('GET /people/{id}', 'session', {
    input: byId,
    output: Person,
    summary: 'Read a person',
  }),
  'people.update': operation('PATCH /people/{id}', 'session', {
    input: v.strictObject({ id: Id, version: v.optional(Version), ...patchOf(PersonDraft.entries) }),
    output: Person,
    summary: 'Change fields of a person; role, groups and enabled apply from the next request',
  }),
  'people.delete': deletion(
    'DELETE /people/{id}',
    'session',
    'Remove a person, their sessions and their sign-ins from MCP clients',
  ),
  'people.invite': operation('POST /people/{id}/invite', 'session', {
    input: byId,
    output: v.object({
      invite_url: v.pipe(
        v.string(),
        v.description(
          'Shown only once; works once, and ends an earlier invitation. It also ends when the person becomes an owner, or its creator is no longer an administrator',
        ),
      ),
      expires_at: Timestamp,
    }),
    summary: 'Create a link with which a person sets a password, valid for 72 hours',
  }),
  'people.reset_2fa': operation('POST /people/{id}/reset-2fa', 'session', {
    input: byId,
    output: Person,
    summary: 'Turn off the second factor of a person, for a lost authenticator; their sessions end',
  }),
  'people.end_sessions': deletion('DELETE /people/{id}/sessions', 'session', 'Sign a person out everywhere'),
  'auth.accept_invite': operation('POST /auth/accept-invite', 'public', {
    input: v.strictObject({ token: textBetween(1, 200), username: v.optional(Username), password: NewPassword }),
    output: LoginResult,
    summary: 'Accept an invitation: set a password and sign in',
  }),
  'auth.accept_invite_through': operation('POST /auth/accept-invite/provider', 'public', {
    input: v.strictObject({ token: textBetween(1, 200), provider_id: Id }),
    output: v.object({ redirect_to: v.pipe(v.string(), v.description('Where the browser goes now, within a minute')) }),
    summary: 'Accept an invitation with an account at an identity provider instead of a password',
  }),
};
