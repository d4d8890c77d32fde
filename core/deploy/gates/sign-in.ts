import { issuerFrom, signInFault } from '#core/settings/public-urls.ts';
import { readSettings } from '#core/settings/settings.ts';
import type { DeployGate } from './gate.ts';

/** People sign in over HTTPS, or on this machine alone. */
export const signInGate: DeployGate = {
  name: 'sign-in',
  async run({ app: { env }, app }, { server: { auth_type } }) {
    if (auth_type !== 'oauth') return [];
    const { settings } = await readSettings(app);
    const fault = signInFault(env, { ...settings, auth_type });
    if (fault !== null) return [{ refusal: 'cannot_deploy', field: 'auth_type', message: fault }];
    if (env.SVC_PUBLIC_URL !== null || !issuerFrom(env, settings).startsWith('http:')) return [];
    const message = 'Only people on this machine can sign in from MCP clients, because SVC_PUBLIC_URL is not set.';
    return env.SVC_ENV === 'dev' ? [] : [{ message }];
  },
};
