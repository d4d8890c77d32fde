import type { FrozenServer } from '#snapshots/format.ts';
import type { Tree } from '#snapshots/tree.ts';
import { exposureOf, REQUIRED_AUTH } from '../exposure.ts';
import type { DeployGate } from './gate.ts';

/**
 * That anyone who reaches a port can call the tools: a warning, or refused where the installation requires authentication. And a
 * warning when the last toolset goes.
 */
export const exposureGate: DeployGate = {
  name: 'exposure',
  async run({ app }, { server, tree }, active) {
    const said = await exposureOf(app, server);
    if (said === null) return active !== null && opensAll(server, active.tree, tree) ? [{ message: ALL_OPEN }] : [];
    if (!app.env.SVC_REQUIRE_AUTH) return [{ message: said }];
    return [{ refusal: 'cannot_deploy', field: 'auth_type', message: `${said} ${REQUIRED_AUTH}` }];
  },
};

/** Whose callers have toolsets by their groups or scopes, and everything while there is no toolset. */
const BY_TOOLSETS: readonly FrozenServer['auth_type'][] = ['oauth', 'jwt', 'oauth_introspection'];
const ALL_OPEN =
  'No toolset is enabled any more: everyone who signs in can use every tool, resource and prompt, whatever their groups. To keep parts apart, leave a toolset enabled.';

const hasToolset = ({ leaves }: Tree): boolean => leaves.some(({ kind }) => kind === 'toolset');
const opensAll = ({ auth_type }: FrozenServer, before: Tree, after: Tree): boolean =>
  BY_TOOLSETS.includes(auth_type) && hasToolset(before) && !hasToolset(after);
