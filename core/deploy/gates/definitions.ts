import { subjectOf } from '#core/contract/entities.ts';
import { lintLeaves } from '#core/definitions/lint/lint-index.ts';
import type { StoredSnapshot } from '#core/versions/stored-snapshots.ts';
import { differingIn } from '#snapshots/format/tree.ts';
import { callerReaders } from '../checks/caller-readers.ts';
import type { DeployGate, Finding, GateSubject } from './gate.ts';

/** Changes that may break clients of the active version. */
export const breakingGate: DeployGate = {
  name: 'breaking',
  async run(_, subject, active) {
    // The first version has no clients yet.
    if (active === null) return [];
    const found: Finding[] = await lostCallers(subject, active);
    for await (const page of subject.changes()) {
      for (const { entity_type, name, breaking } of page) {
        const prefix = entity_type === 'server_config' ? '' : `${subjectOf(entity_type, name)}: `;
        found.push(...breaking.map((sentence) => ({ field: `${entity_type}.${name}`, message: `${prefix}${sentence}` })));
      }
    }
    return found;
  },
};

/** Without sign-in, definitions that read values of the caller refuse every call that needs them. */
async function lostCallers({ server, tree, texts }: GateSubject, active: StoredSnapshot): Promise<Finding[]> {
  if (server.auth_type !== 'none' || active.server.auth_type === 'none') return [];
  const readers = await callerReaders(tree, texts);
  if (readers === null) return [];
  const message = `With auth_type none callers are not known, and ${readers} read values of the caller. Calls that need them are refused.`;
  return [{ field: 'server_config.auth_type', message }];
}

/** Lint findings in new and changed definitions, without mere advice. */
export const lintGate: DeployGate = {
  name: 'lint',
  async run({ app }, { tree, texts }, active, { lint_off }) {
    const { now } = differingIn(active?.tree ?? null, tree);
    const found = await lintLeaves(app, tree, now, texts, lint_off);
    return found
      .filter(({ severity }) => severity !== 'info')
      .map(({ rule, entity: { kind, name }, message }) => ({
        rule,
        field: `${kind}.${name}`,
        message: `${subjectOf(kind, name)}: ${message}`,
      }));
  },
};

/** Definitions that their database describes differently than when they were saved or frozen. */
export const driftGate: DeployGate = {
  name: 'drift',
  run: async (_, subject) =>
    (await subject.drifted()).map(({ kind, name, differences }) => ({
      field: `${kind}.${name}`,
      message: `${subjectOf(kind, name)}: its tables have changed since it was saved. ${differences.join(' ')}`,
    })),
};
