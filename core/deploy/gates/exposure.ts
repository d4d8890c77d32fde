import type { FrozenServer } from '#snapshots/format/format.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Tree } from '#snapshots/format/tree.ts';
import { isPerson } from '#core/context/roles.ts';
import { exposureOf, REQUIRED_AUTH } from '../exposure.ts';
import type { DeployGate } from './gate.ts';

/**
 * That anyone who reaches a port can call the tools: a warning, or refused where the installation requires authentication. And a
 * warning when the last toolset goes, which no token deploys.
 */
export const exposureGate: DeployGate = {
  name: 'exposure',
  async run({ app, actor }, { server, tree }, active) {
    const said = await exposureOf(app, server);
    if (said === null) {
      if (active === null || !opensAll(server, active.tree, tree)) return [];
      return [isPerson(actor, 'caller') ? { message: ALL_OPEN } : { message: PEOPLE_ONLY, refusal: 'admin_only' }];
    }
    if (!app.env.SVC_REQUIRE_AUTH) return [{ message: said }];
    return [{ refusal: 'cannot_deploy', field: 'auth_type', message: `${said} ${REQUIRED_AUTH}` }];
  },
};

/** Whose callers have toolsets by their groups or scopes, and everything while there is no toolset. */
const BY_TOOLSETS: readonly FrozenServer['auth_type'][] = ['oauth', 'jwt', 'oauth_introspection'];
const ALL_OPEN =
  'No toolset is enabled any more: everyone who signs in can use every tool, resource and prompt, whatever their groups. To keep parts apart, leave a toolset enabled.';
const PEOPLE_ONLY =
  'No toolset is enabled any more, so everyone who signs in could use every tool, resource and prompt. Only a signed-in person can deploy this, not a token.';

const hasToolset = ({ leaves }: Tree): boolean => leavesOf(leaves, 'toolset').length > 0;
const opensAll = ({ auth_type }: FrozenServer, before: Tree, after: Tree): boolean =>
  BY_TOOLSETS.includes(auth_type) && hasToolset(before) && !hasToolset(after);
