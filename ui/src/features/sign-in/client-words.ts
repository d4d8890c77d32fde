import type { ClientFacts } from '#core/contract/identity/oauth.ts';

export const isVouchedFor = ({ kind }: Pick<ClientFacts, 'kind'>): boolean => kind === 'app' || kind === 'known';

/** Anybody may call their client by any name. */
export const clientTitle = (client: Pick<ClientFacts, 'name' | 'kind'>): string =>
  isVouchedFor(client) ? client.name : `${client.name} (as the client says)`;
