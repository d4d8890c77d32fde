import type { ProviderCheck } from '#core/contract/identity/identity-providers.ts';
import { plural } from '#ui/src/kernel/words.ts';

export const WORDS = {
  title: 'Identity providers',
  lead: 'People sign in with the account of their organization: Google, Entra, Okta, Keycloak or any other OpenID Connect provider.',
  add: 'Add provider',
  add_title: 'Add an identity provider',
  edit_title: (name: string) => `Edit ${name}`,
  save: 'Save',
  name: 'Name',
  issuer: 'Issuer',
  people: 'People',
  state: 'State',
  enabled: 'Enabled',
  disabled: 'Disabled',
  edit: 'Edit',
  test: 'Test',
  enable: 'Enable',
  disable: 'Disable',
  remove: 'Delete',
  remove_title: (name: string) => `Delete the provider “${name}”?`,
  remove_text: (people: number) =>
    people === 0
      ? 'Nobody signs in through it yet. The history can restore it.'
      : `${plural(people, 'person', 'people')} can no longer sign in through it. They are not deleted, and the history can restore the provider.`,
  removed: (name: string) => `Deleted “${name}”.`,
  unsaved: 'The changes to this provider are not saved.',
  saved: (name: string) => `Saved “${name}”.`,
  empty_title: 'No identity providers yet',
  empty: 'Register Sluice as a client with your provider, then add it here.',
  redirect: 'Redirect URI',
  redirect_hint: 'Register exactly this address with the provider.',
  identity: 'Provider',
  who: 'Who can sign in',
  roles: 'Roles by group',
  roles_hint: 'A person in several groups gets the highest role. Roles follow the groups at every sign-in; owners stay owners.',
  group: 'Group',
  role: 'Role',
  add_group: 'Add group',
  remove_group: (group: string) => `Remove ${group === '' ? 'group' : group}`,
  test_title: (name: string) => `Test of ${name}`,
  test_good: 'The provider is ready for sign-ins',
  test_bad: 'Sign-ins will fail',
  testing: 'Asking the provider',
  close: 'Close',
} as const;

export const CHECK_WORDS: Readonly<Record<ProviderCheck['check'], string>> = {
  address: 'Address',
  discovery: 'Metadata',
  issuer: 'Issuer',
  endpoints: 'Endpoints',
  pkce: 'PKCE',
  algorithms: 'Algorithms',
  keys: 'Signing keys',
  scopes: 'Scopes',
  client: 'Client credentials',
};
