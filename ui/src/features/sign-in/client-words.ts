import type { ClientFacts } from '#core/contract/identity/oauth.ts';

export const CLIENT_KINDS = {
  app: 'Added by an administrator of this server',
  known: 'Known client',
  document: 'Identified by its web address, not checked by anyone here',
  registration: 'Registered itself, unverified',
} as const satisfies Record<ClientFacts['kind'], string>;

export const isVouchedFor = ({ kind }: Pick<ClientFacts, 'kind'>): boolean => kind === 'app' || kind === 'known';

/** Anybody may call their client by any name. */
export const clientTitle = (client: Pick<ClientFacts, 'name' | 'kind'>): string =>
  isVouchedFor(client) ? client.name : `${client.name} (as the client says)`;
