import { lockedOut } from '#core/contract/settings/config.ts';
import type { DeployGate } from './gate.ts';

/** Settings with which no caller gets in. */
export const accessGate: DeployGate = {
  name: 'access',
  async run(_, { server }) {
    const locked = lockedOut(server);
    if (locked === null) return [];
    return [{ refusal: 'cannot_deploy', field: locked.field, message: `No caller could authenticate: ${locked.message}` }];
  },
};
