import { subjectOf } from '#core/contract/entities.ts';
import type { DeployGate } from './gate.ts';

/** What may break clients that know the active version. */
export const breakingGate: DeployGate = {
  name: 'breaking',
  run: async (_, candidate) =>
    (await candidate.changes()).flatMap(({ entity_type, name, breaking }) =>
      breaking.map((sentence) => ({
        field: `${entity_type}.${name}`,
        message: entity_type === 'server_config' ? sentence : `${subjectOf(entity_type, name)}: ${sentence}`,
      })),
    ),
};
