import { isIP } from 'node:net';
import { beginning } from '#core/lib/text/shorten.ts';
import { clientName } from '#core/client/client-texts.ts';
import type { RegistryEntry } from '#core/contract/deploy/server.ts';
import { isLoopback } from '#core/contract/settings/config.ts';
import { AppError } from '#core/errors.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { firstSentence } from '#core/lib/text/shorten.ts';

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
/** Characters that the registry takes. */
const LONGEST_DESCRIPTION = 100;
const LONGEST_TITLE = 100;
/** Clients sign in by themselves, or need nothing. */
const NEEDS_NO_TOKEN: ReadonlySet<FrozenServer['auth_type']> = new Set(['none', 'oauth', 'oauth_introspection', 'jwt']);

/** The entry of the deployed server in the public registry. Throws when it is at no address that the registry could list. */
export function registryEntry(server: FrozenServer, version: number, url: string): RegistryEntry {
  const { server_name, auth_type, transport, instructions } = server;
  if (transport === 'stdio') {
    throw new AppError('conflict', 'The registry lists servers with an address. Set transport to http, and deploy.');
  }
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'https:' || isLoopback(hostname) || isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0 || !hostname.includes('.')) {
    const detail = `The registry lists public https addresses with a domain, and clients reach this server at ${url}. Set up HTTPS with a domain, or SVC_MCP_PUBLIC_URL.`;
    throw new AppError('conflict', detail);
  }
  const token = { description: 'Access token of this server', isRequired: true, isSecret: true };
  const headers = [
    { name: 'Authorization', value: 'Bearer {token}', ...token, description: 'Bearer token', variables: { token } },
  ];
  return {
    $schema: SCHEMA,
    name: `${hostname.split('.').toReversed().join('.')}/${clientName(server_name)}`,
    title: beginning(server_name, LONGEST_TITLE),
    description: firstSentence(instructions ?? `Data and tools of ${server_name}.`, LONGEST_DESCRIPTION),
    // The registry takes every version once; a deploy is one.
    version: `1.0.${version}`,
    remotes: [{ type: 'streamable-http', url, ...(NEEDS_NO_TOKEN.has(auth_type) ? {} : { headers }) }],
  };
}
