import { subjectOf } from '#core/contract/entities.ts';
import { AppError } from '#core/errors.ts';
import { blobSecrets } from '#core/versions/sealed-records.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import { HOLDS_SECRETS } from '#snapshots/format/tree.ts';
import type { FrozenResource, FrozenTool } from '#snapshots/format/format.ts';
import type { DeployGate, Finding } from './gate.ts';

/** Everything that would fail at the first call: refused statements, secrets that no key opens, and passthrough SQL where it is blocked. */
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
    const sealed = HOLDS_SECRETS.flatMap((kind) => leavesOf(tree.leaves, kind));
    for (const [hash, text] of await texts(sealed)) {
      const { kind } = sealed.find((leaf) => leaf.hash === hash) ?? { kind: 'server' as const };
      // Opening them also detects secrets that were changed.
      for (const { sealed: secret, path } of blobSecrets({ kind, text })) app.keyring.open(secret, path);
    }
    if (app.env.SVC_ALLOW_PASSTHROUGH_SQL) return found;
    for (const kind of ['tool', 'resource'] as const) {
      const frozen = await texts(leavesOf(tree.leaves, kind));
      for (const text of frozen.values()) if (isPassthrough(text)) throw passthrough(kind, text);
    }
    return found;
  },
};

/** Most texts have no such member, and parsing every one of a large configuration takes long. */
const isPassthrough = (text: string): boolean =>
  text.includes('"passthrough":true') && (JSON.parse(text) as FrozenTool | FrozenResource).passthrough === true;

function passthrough(kind: 'tool' | 'resource', text: string): AppError {
  const { name } = JSON.parse(text) as FrozenTool | FrozenResource;
  return new AppError(
    'passthrough_sql_blocked',
    `The ${kind} ${name} of this snapshot runs text of its callers as SQL. Set SVC_ALLOW_PASSTHROUGH_SQL=true to serve it.`,
  );
}
