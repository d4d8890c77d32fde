import { lockedOut } from '#core/contract/settings/config.ts';
import type { FrozenServer } from '#snapshots/format.ts';
import type { DeployGate } from './gate.ts';

/** Settings with which no caller gets in, and a warning where only some do. */
export const accessGate: DeployGate = {
  name: 'access',
  async run(_, { server }) {
    const locked = lockedOut(server);
    if (locked !== null)
      return [{ refusal: 'cannot_deploy', field: locked.field, message: `No caller could authenticate: ${locked.message}` }];
    return server.transport === 'sse' && BY_OAUTH.includes(server.auth_type) ? [{ message: ONLY_MCP }] : [];
  },
};

/** Clients get their tokens by OAuth, for the address that the metadata names. */
const BY_OAUTH: readonly FrozenServer['auth_type'][] = ['oauth', 'oauth_credentials'];
const ONLY_MCP =
  'Clients cannot sign in at /sse, because OAuth tokens are for /mcp alone and they compare the addresses. Have them use /mcp.';
