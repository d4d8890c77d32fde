import { subjectOf } from '#core/contract/entities.ts';
import type { DeployGate, Finding } from './gate.ts';

/** What may break clients that know the active version. */
export const breakingGate: DeployGate = {
  name: 'breaking',
  async run(_, candidate, active) {
    // Nobody knows a version that was never served.
    if (active === null) return [];
    const found: Finding[] = [];
    for await (const page of candidate.changes()) {
      for (const { entity_type, name, breaking } of page) {
        const subject = entity_type === 'server_config' ? '' : `${subjectOf(entity_type, name)}: `;
        found.push(...breaking.map((sentence) => ({ field: `${entity_type}.${name}`, message: `${subject}${sentence}` })));
      }
    }
    return found;
  },
};
