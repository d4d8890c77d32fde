import { exposureOf, REQUIRED_AUTH } from '../exposure.ts';
import type { DeployGate } from './gate.ts';

/** That anyone who reaches a port can call the tools: a warning, or refused where the installation requires authentication. */
export const exposureGate: DeployGate = {
  name: 'exposure',
  async run({ app }, { server }) {
    const said = await exposureOf(app, server);
    if (said === null) return [];
    if (!app.env.SVC_REQUIRE_AUTH) return [{ message: said }];
    return [{ refusal: 'cannot_deploy', field: 'auth_type', message: `${said} ${REQUIRED_AUTH}` }];
  },
};
