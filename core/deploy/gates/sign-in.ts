import { isPerson } from '#core/context/roles.ts';
import { lockedOut } from '#core/contract/settings/config.ts';
import { issuerFrom, signInFault } from '#core/settings/public-urls.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { Tree } from '#snapshots/format/tree.ts';
import { exposureOf, REQUIRED_AUTH } from '../exposure.ts';
import type { DeployGate } from './gate.ts';

/** Refuses settings with which no caller could authenticate. */
export const accessGate: DeployGate = {
  name: 'access',
  of_installation: true,
  async run(_, { server }) {
    const locked = lockedOut(server);
    if (locked === null) return [];
    return [{ refusal: 'cannot_deploy', field: locked.field, message: `No caller could authenticate: ${locked.message}` }];
  },
};

/** People sign in over HTTPS, or only from this machine. */
export const signInGate: DeployGate = {
  name: 'sign-in',
  of_installation: true,
  async run({ app: { env } }, { server: { auth_type } }, _, settings) {
    if (auth_type !== 'oauth') return [];
    const fault = signInFault(env, { ...settings, auth_type });
    if (fault !== null) return [{ refusal: 'cannot_deploy', field: 'auth_type', message: fault }];
    if (env.SVC_PUBLIC_URL !== null || !issuerFrom(env, settings).startsWith('http:')) return [];
    const message = 'Only people on this machine can sign in from MCP clients, because SVC_PUBLIC_URL is not set.';
    return env.SVC_ENV === 'dev' ? [] : [{ message }];
  },
};

/**
 * Warns when anyone who can reach a port can call the tools, and refuses it where the installation requires authentication. Also warns
 * when the last toolset is removed, which a token cannot deploy.
 */
export const exposureGate: DeployGate = {
  name: 'exposure',
  of_installation: true,
  async run({ app, actor }, { server, tree }, active) {
    const exposed = await exposureOf(app, server);
    if (exposed === null) {
      if (active === null || !opensAll(server, active.tree, tree)) return [];
      return [isPerson(actor, 'caller') ? { message: ALL_OPEN } : { message: PEOPLE_ONLY, refusal: 'admin_only' }];
    }
    if (!app.env.SVC_REQUIRE_AUTH) return [{ message: exposed }];
    return [{ refusal: 'cannot_deploy', field: 'auth_type', message: `${exposed} ${REQUIRED_AUTH}` }];
  },
};

/** With these, groups or scopes decide the toolsets of a caller. Without any toolset, callers can use everything. */
const BY_TOOLSETS: readonly FrozenServer['auth_type'][] = ['oauth', 'jwt', 'oauth_introspection'];
const ALL_OPEN =
  'No toolset is enabled any more: everyone who signs in can use every tool, resource and prompt, whatever their groups. To keep parts apart, leave a toolset enabled.';
const PEOPLE_ONLY =
  'No toolset is enabled any more, so everyone who signs in could use every tool, resource and prompt. Only a signed-in person can deploy this, not a token.';

const hasToolset = ({ leaves }: Tree): boolean => leavesOf(leaves, 'toolset').length > 0;
const opensAll = ({ auth_type }: FrozenServer, before: Tree, after: Tree): boolean =>
  BY_TOOLSETS.includes(auth_type) && hasToolset(before) && !hasToolset(after);
