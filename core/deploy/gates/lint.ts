import { subjectOf } from '#core/contract/entities.ts';
import { differingIn } from '#snapshots/format/tree.ts';
import { lintLeaves } from '#core/definitions/lint/lint-index.ts';
import type { DeployGate } from './gate.ts';

/** What lint finds in definitions that the candidate adds or changes, advice left out. */
export const lintGate: DeployGate = {
  name: 'lint',
  async run({ app }, { tree, texts }, active) {
    const { now } = differingIn(active?.tree ?? null, tree);
    const found = await lintLeaves(app, tree, now, texts);
    return found
      .filter(({ severity }) => severity !== 'info')
      .map(({ entity: { kind, name }, message }) => ({
        field: `${kind}.${name}`,
        message: `${subjectOf(kind, name)}: ${message}`,
      }));
  },
};
