import type { ClientFacts } from '#core/contract/identity/oauth.ts';

export const WORDS = {
  title: 'Connected clients',
  lead: 'MCP clients that people signed in with. Revoking one stops its tokens within a second.',
  own_title: 'Your connected clients',
  own_lead: 'MCP clients that you signed in with.',
  client: 'Client',
  person: 'Person',
  scopes: 'Permissions',
  everything: 'Everything the person may use',
  used: 'Last used',
  revoke: 'Revoke',
  revoke_title: (name: string, person: string) => `Revoke ${name} for ${person}?`,
  revoke_text: 'Its tokens stop working within a second. The person can sign in again.',
  revoked: (name: string) => `${name} was revoked`,
  none_title: 'No clients yet',
  none: 'A client appears here once somebody signs in with it.',
} as const;

/** Who vouches for a client, in a few words. */
export const KIND_WORDS = {
  app: 'OAuth app',
  known: 'Known client',
  document: 'By web address',
  registration: 'Unverified',
} as const satisfies Record<ClientFacts['kind'], string>;
