import type { ClientFacts } from '#core/contract/identity/oauth.ts';

/** Who vouches for a client, in a few words. */
export const KIND_WORDS = {
  app: 'OAuth app',
  known: 'Known client',
  document: 'By web address',
  registration: 'Unverified',
} as const satisfies Record<ClientFacts['kind'], string>;
