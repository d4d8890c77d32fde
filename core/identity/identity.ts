import type { Platform } from '#core/platform/platform.ts';
import type { WithDocuments } from './oauth/clients/documents.ts';
import type { WithDecisions } from './oauth/confirmations.ts';
import type { WithPasswordWork } from './passwords.ts';
import { createProviderLink, type WithProviders } from './providers/metadata.ts';

export type WithIdentity = WithProviders & WithDecisions & WithDocuments & WithPasswordWork;

export type IdentityOptions = WithPasswordWork & Pick<WithDocuments, 'fetch_document'>;

/** Creates the in-memory state of identity providers, decisions and client documents. */
export const createIdentity = (
  { policy, waits }: Pick<Platform, 'policy' | 'waits'>,
  { password_work, fetch_document }: IdentityOptions,
): WithIdentity => ({
  providers: createProviderLink(policy, waits.provider_ms),
  decisions: new Map(),
  document_flights: new Map(),
  ...(password_work !== undefined && { password_work }),
  ...(fetch_document !== undefined && { fetch_document }),
});
