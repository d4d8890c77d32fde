import { subjectOf } from '#core/contract/entities.ts';
import { AppError } from '#core/errors.ts';
import { blobSecrets } from '#core/identity/sealed-records.ts';
import type { FrozenTool } from '#snapshots/format.ts';
import type { DeployGate, Finding } from './gate.ts';

/** Whatever would fail at the first call: statements that their database refuses, secrets that no key opens, what is blocked here. */
export const prepareGate: DeployGate = {
  name: 'prepare',
  async run({ app }, { problems, warnings, version, tree, texts }) {
    const [control] = problems.map((problem) => problem.control);
    const refusal = problems.every((problem) => problem.control === control) ? control : undefined;
    const found: Finding[] = problems.map(({ entity_type, name, message }, n) => ({
      refusal: refusal ?? 'cannot_deploy',
      field: `${entity_type}.${name}`,
      message: `${n === 0 ? 'The configuration cannot be deployed. ' : ''}${subjectOf(entity_type, name)}: ${message}`,
    }));
    for (const message of warnings) found.push({ message });
    if (version === null) return found;
    const sealed = tree.leaves.filter(({ kind }) => kind === 'connection' || kind === 'server');
    for (const [hash, text] of await texts(sealed)) {
      const { kind } = sealed.find((leaf) => leaf.hash === hash) ?? { kind: 'server' as const };
      for (const { sealed: secret, place } of blobSecrets({ kind, text })) {
        // Opened, not only looked at: what was changed does not open either.
        app.keyring.open(secret, place);
      }
    }
    if (app.env.SVC_ALLOW_PASSTHROUGH_SQL) return found;
    const tools = await texts(tree.leaves.filter(({ kind }) => kind === 'tool'));
    for (const text of tools.values()) {
      if (!text.includes('"passthrough":true')) continue;
      const tool = JSON.parse(text) as FrozenTool;
      if (tool.passthrough === true) throw passthrough(tool.name);
    }
    return found;
  },
};

const passthrough = (name: string): AppError =>
  new AppError(
    'passthrough_sql_blocked',
    `The tool ${name} of this snapshot takes its whole statement as a parameter. Set SVC_ALLOW_PASSTHROUGH_SQL=true to serve it.`,
  );
