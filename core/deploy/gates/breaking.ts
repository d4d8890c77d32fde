import { subjectOf } from '#core/contract/entities.ts';
import type { StoredSnapshot } from '#core/versions/stored-snapshots.ts';
import { callerReaders } from '../checks/caller-readers.ts';
import type { GateSubject, DeployGate, Finding } from './gate.ts';

/** What may break clients that know the active version. */
export const breakingGate: DeployGate = {
  name: 'breaking',
  async run(_, candidate, active) {
    // Nobody knows a version that was never served.
    if (active === null) return [];
    const found: Finding[] = await lostCallers(candidate, active);
    for await (const page of candidate.changes()) {
      for (const { entity_type, name, breaking } of page) {
        const subject = entity_type === 'server_config' ? '' : `${subjectOf(entity_type, name)}: `;
        found.push(...breaking.map((sentence) => ({ field: `${entity_type}.${name}`, message: `${subject}${sentence}` })));
      }
    }
    return found;
  },
};

/** No sign-in is wider for most definitions; those that read who calls refuse every call then. */
async function lostCallers({ server, tree, texts }: GateSubject, active: StoredSnapshot): Promise<Finding[]> {
  if (server.auth_type !== 'none' || active.server.auth_type === 'none') return [];
  const readers = await callerReaders(tree, texts);
  if (readers === null) return [];
  const message = `With auth_type none callers are not known, and ${readers} read values of the caller. Calls that need them are refused.`;
  return [{ field: 'server_config.auth_type', message }];
}
