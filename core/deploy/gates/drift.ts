import { subjectOf } from '#core/contract/entities.ts';
import type { DeployGate } from './gate.ts';

/** Definitions whose database describes them otherwise than when they were saved, or frozen. */
export const driftGate: DeployGate = {
  name: 'drift',
  run: async (_, candidate) =>
    (await candidate.drifted()).map(({ kind, name, differences }) => ({
      field: `${kind}.${name}`,
      message: `${subjectOf(kind, name)}: its tables have changed since it was saved. ${differences.join(' ')}`,
    })),
};
